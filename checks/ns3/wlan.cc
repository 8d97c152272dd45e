// One access point with its stations in ns-3 3.44, for comparison with Evenair's simulator on the same set-up.
//
// It prints one line of JSON: for each group of stations the IP-level throughput (data and their ACKs that crossed the
// air) and the goodput, and the CPU time that the event loop took. Cases and their lengths are the caller's
// (crates/sim/examples/ns3): this program knows set-ups, not experiments.
//
// Set-up. A Yans channel on which all hear all, unless groups are hidden from each other, at a signal far above noise.
// Constant rates, no capture. The access point forwards IP between the air and one wire to the server. Ad-hoc mode, in
// which the same 28 bytes surround a frame and nobody sends beacons. Neighbours are known from the start (no ARP), MAC
// frames do not expire (ns-3 drops them after 500 ms otherwise), and there is no queue discipline above the MAC queues:
// the device's queue is the buffer, drop tail, the frame in service included.
//
// 802.11ac and ax are at 5 GHz, with QoS, A-MPDUs up to the standard's maximum, block acknowledgment with the standard's
// largest window, no A-MSDUs, and guard intervals of 800 ns; all is best effort, without a TXOP limit unless one is given.
//
// Why C++ and not ns-3's Python bindings: they take 15 s of CPU time to load, count as part of each run, and cannot
// express the rate table below.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/mobility-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"
#include "ns3/wifi-module.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <map>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

namespace
{

/// Time that this thread has run, in seconds.
double
CpuSeconds()
{
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

std::vector<std::string>
Split(const std::string& text, char separator)
{
    std::vector<std::string> parts;
    std::stringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);)
    {
        parts.push_back(part);
    }
    return parts;
}

} // namespace

namespace ns3
{

/// What a data frame is sent with.
struct Rate
{
    WifiMode mode;
    uint8_t streams = 1;
};

/// Data frames at the rate of the station at either end of the hop; RTS at the highest basic rate that is not above it.
/// It also counts attempts that were acknowledged and that were not, but of A-MPDUs, whose frames ns-3 reports twice where a
/// BlockAckReq follows.
class TableRateManager : public WifiRemoteStationManager
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::TableRateManager")
                                .SetParent<WifiRemoteStationManager>()
                                .AddConstructor<TableRateManager>();
        return tid;
    }

    /// The rate toward each station, for the access point.
    static std::map<Mac48Address, Rate> s_toward;
    static uint64_t s_acknowledged;
    static uint64_t s_unacknowledged;

    /// The rate toward everybody else.
    void SetOwn(Rate rate)
    {
        m_own = rate;
    }

  private:
    WifiRemoteStation* DoCreateStation() const override
    {
        return new WifiRemoteStation();
    }

    Rate RateOf(WifiRemoteStation* station) const
    {
        auto known = s_toward.find(station->m_state->m_address);
        return known == s_toward.end() ? m_own : known->second;
    }

    WifiTxVector Vector(Rate rate)
    {
        WifiTxVector vector;
        vector.SetMode(rate.mode);
        vector.SetPreambleType(
            GetPreambleForTransmission(rate.mode.GetModulationClass(), GetShortPreambleEnabled()));
        vector.SetTxPowerLevel(GetDefaultTxPowerLevel());
        vector.SetChannelWidth(GetPhy()->GetTxBandwidth(rate.mode));
        vector.SetGuardInterval(NanoSeconds(800));
        vector.SetNss(rate.streams);
        return vector;
    }

    WifiTxVector DoGetDataTxVector(WifiRemoteStation* station, MHz_u) override
    {
        auto vector = Vector(RateOf(station));
        vector.SetAggregation(GetAggregation(station));
        return vector;
    }

    WifiTxVector DoGetRtsTxVector(WifiRemoteStation* station) override
    {
        const WifiMode data = RateOf(station).mode;
        WifiMode best = GetBasicMode(0);
        for (uint8_t i = 0; i < GetNBasicModes(); i++)
        {
            const WifiMode mode = GetBasicMode(i);
            if (mode.IsHigherDataRate(best) && !mode.IsHigherDataRate(data))
            {
                best = mode;
            }
        }
        return Vector({best});
    }

    void DoReportDataOk(WifiRemoteStation*, double, WifiMode, double, MHz_u, uint8_t) override
    {
        s_acknowledged++;
    }

    void DoReportDataFailed(WifiRemoteStation*) override
    {
        s_unacknowledged++;
    }

    void DoReportRxOk(WifiRemoteStation*, double, WifiMode) override
    {
    }

    void DoReportRtsFailed(WifiRemoteStation*) override
    {
    }

    void DoReportRtsOk(WifiRemoteStation*, double, WifiMode, double) override
    {
    }

    void DoReportFinalRtsFailed(WifiRemoteStation*) override
    {
    }

    void DoReportFinalDataFailed(WifiRemoteStation*) override
    {
    }

    Rate m_own;
};

std::map<Mac48Address, Rate> TableRateManager::s_toward;
uint64_t TableRateManager::s_acknowledged = 0;
uint64_t TableRateManager::s_unacknowledged = 0;
NS_OBJECT_ENSURE_REGISTERED(TableRateManager);

} // namespace ns3

namespace
{

/// Stations that are alike, and what has been counted of them since the warm-up.
struct Group
{
    std::string name;
    uint32_t count = 1;
    std::string rate;      ///< as written: Mb/s, or a mode and its streams
    std::string app;       ///< up-tcp, down-tcp, up-udp, down-udp, voice
    uint32_t payload = 0;  ///< bytes, for udp
    double offered = 0;    ///< Mb/s of payload of each station, for udp
    double loss = 0;       ///< probability that a frame that its stations receive is lost
    uint32_t first = 0;    ///< number of its first station
    uint64_t ipBytes = 0;
    uint64_t goodBytes = 0;
    uint64_t voiceSent = 0;
    std::vector<double> voiceDelaysMs{};
};

std::vector<Group> g_groups;
std::vector<uint32_t> g_groupOf; ///< station to group
Time g_warmup;
constexpr uint16_t FIRST_PORT = 10000;
constexpr uint16_t VOICE_DOWN_PORT = 20000; ///< below the ephemeral ports, which begin at 49153

/// The group whose application has a packet's ports; each station has a port of its own.
Group*
GroupOf(uint16_t source, uint16_t destination)
{
    for (const uint16_t port : {destination, source})
    {
        const uint32_t station = port - FIRST_PORT;
        if (port >= FIRST_PORT && station < g_groupOf.size())
        {
            return &g_groups[g_groupOf[station]];
        }
    }
    return nullptr;
}

/// A packet has come in at an interface of the access point or of a station.
void
CountRx(uint32_t wifiInterface, Ptr<const Packet> packet, Ptr<Ipv4>, uint32_t interface)
{
    if (interface != wifiInterface || Simulator::Now() < g_warmup)
    {
        return;
    }
    auto copy = packet->Copy();
    Ipv4Header ip;
    copy->RemoveHeader(ip);
    uint8_t ports[4];
    if (copy->CopyData(ports, 4) < 4)
    {
        return;
    }
    const uint16_t source = ports[0] * 256 + ports[1];
    const uint16_t destination = ports[2] * 256 + ports[3];
    if (auto group = GroupOf(source, destination))
    {
        group->ipBytes += packet->GetSize();
    }
}

void
CountGood(Group* group, Ptr<const Packet> packet, const Address&)
{
    if (Simulator::Now() >= g_warmup)
    {
        group->goodBytes += packet->GetSize();
    }
}

void
CountVoiceSent(Group* group, Ptr<const Packet>)
{
    group->voiceSent += Simulator::Now() >= g_warmup;
}

void
CountVoice(Group* group, Ptr<const Packet> packet, const Address&)
{
    SeqTsHeader stamp;
    packet->PeekHeader(stamp);
    if (stamp.GetTs() >= g_warmup)
    {
        group->voiceDelaysMs.push_back((Simulator::Now() - stamp.GetTs()).GetSeconds() * 1e3);
    }
}

std::string
ModeName(const std::string& standard, const std::string& rate)
{
    const std::string digits = rate == "5.5" ? "5_5" : rate;
    if (standard == "80211b")
    {
        return "DsssRate" + digits + "Mbps";
    }
    return (standard == "80211g" ? "ErpOfdmRate" : "OfdmRate") + digits + "Mbps";
}

/// A rate as written: Mb/s, HeMcs7 or, with two streams, VhtMcs8:2.
Rate
ParseRate(const std::string& standard, const std::string& text)
{
    if (text.find("Mcs") == std::string::npos)
    {
        return {WifiMode(ModeName(standard, text))};
    }
    const auto parts = Split(text, ':');
    return {WifiMode(parts.at(0)), static_cast<uint8_t>(parts.size() > 1 ? std::stoul(parts[1]) : 1)};
}

/// "name,count,rate,app[,payload,offered]"
Group
ParseGroup(const std::string& text)
{
    const auto parts = Split(text, ',');
    NS_ABORT_MSG_IF(parts.size() < 4, "a group is name,count,rate,app[,payload,offered]: " << text);
    Group group;
    group.name = parts[0];
    group.count = std::stoul(parts[1]);
    group.rate = parts[2];
    group.app = parts[3];
    if (parts.size() > 5)
    {
        group.payload = std::stoul(parts[4]);
        group.offered = std::stod(parts[5]);
    }
    return group;
}

double
Percentile(std::vector<double> values, double part)
{
    if (values.empty())
    {
        return 0;
    }
    std::sort(values.begin(), values.end());
    return values[std::min(values.size() - 1, static_cast<size_t>(part * values.size()))];
}

} // namespace

int
main(int argc, char* argv[])
{
    std::string standard = "80211b";
    std::string basic = "1,2";
    std::string groups;
    std::string losses;
    std::string hidden;
    uint32_t seed = 1;
    double seconds = 20;
    double warmup = 5;
    uint32_t apQueue = 200;
    uint32_t stationQueue = 500;
    double delayMs = 1;
    uint32_t window = 0;
    uint32_t ackEvery = 2;
    std::string wireRate = "100Mbps";
    uint32_t width = 20;
    uint32_t rtsThreshold = 4692480; // ns-3's greatest: A-MPDUs are longer than 65535 bytes
    bool shortPreamble = false;
    bool qos = false;
    uint32_t txopUs = 0;
    bool detection = true;
    CommandLine cmd;
    cmd.AddValue("standard", "80211b, 80211a, 80211g, 80211ac or 80211ax", standard);
    cmd.AddValue("basic", "basic rates in Mb/s, separated by commas", basic);
    cmd.AddValue("groups", "name,count,rate,app[,payload,offered], separated by /; a rate is Mb/s, or a mode: HeMcs7, VhtMcs8:2 for two streams", groups);
    cmd.AddValue("losses", "group,probability of loss, separated by /", losses);
    cmd.AddValue("hidden", "group,group that do not hear each other (or one that does not hear itself), separated by /", hidden);
    cmd.AddValue("seed", "run number of the random streams", seed);
    cmd.AddValue("seconds", "length of the run", seconds);
    cmd.AddValue("warmup", "seconds that are not counted", warmup);
    cmd.AddValue("ap-queue", "packets", apQueue);
    cmd.AddValue("station-queue", "packets", stationQueue);
    cmd.AddValue("delay-ms", "one-way delay of the wire", delayMs);
    cmd.AddValue("wire-rate", "rate of the wire", wireRate);
    cmd.AddValue("width", "width of the channel in MHz, of 80211ac and 80211ax", width);
    cmd.AddValue("window", "TCP window in bytes without scaling; 0 for none", window);
    cmd.AddValue("ack-every", "segments per TCP acknowledgment", ackEvery);
    cmd.AddValue("rts-threshold", "bytes of the MAC frame", rtsThreshold);
    cmd.AddValue("short-preamble", "802.11b's short preamble", shortPreamble);
    cmd.AddValue("qos", "EDCA, which 80211ac and 80211ax always have", qos);
    cmd.AddValue("txop-us", "TXOP limit of best effort in us, a multiple of 32; 0 for one frame", txopUs);
    cmd.AddValue("detection", "the preamble detection model: without it bystanders of a collision wait EIFS", detection);
    cmd.Parse(argc, argv);
    const bool aggregates = standard == "80211ac" || standard == "80211ax";
    qos = qos || aggregates;

    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(seed);
    g_warmup = Seconds(warmup);

    // TCP: NewReno with SACK and PRR, as Config::ns3() of our endpoint. ns-3 gives up after 6 retries and has segments
    // of 536 bytes otherwise; without SACK its NewReno retransmits falsely.
    constexpr uint32_t SEGMENT = 1460;
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(SEGMENT));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(ackEvery));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(100)));
    Config::SetDefault("ns3::TcpSocket::DataRetries", UintegerValue(1000000));
    Config::SetDefault("ns3::TcpSocket::ConnCount", UintegerValue(1000));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::WindowScaling", BooleanValue(window == 0));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(window == 0 ? 64 << 20 : window));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(window == 0 ? 64 << 20 : 4 * window));
    Config::SetDefault("ns3::WifiMacQueue::MaxDelay", TimeValue(Seconds(1e6)));
    if (aggregates)
    {
        // ns-3 takes what the standard allows where that is less: 1,048,575 bytes and 64 MPDUs in 802.11ac, 256 in ax.
        Config::SetDefault("ns3::WifiMac::BE_MaxAmpduSize", UintegerValue(6500631));
        Config::SetDefault("ns3::WifiMac::BE_MaxAmsduSize", UintegerValue(0));
        Config::SetDefault("ns3::WifiMac::MpduBufferSize", UintegerValue(1024));
    }

    uint32_t stations = 0;
    for (const auto& text : Split(groups, '/'))
    {
        auto group = ParseGroup(text);
        group.first = stations;
        stations += group.count;
        g_groupOf.insert(g_groupOf.end(), group.count, g_groups.size());
        g_groups.push_back(group);
    }
    const auto groupNamed = [](const std::string& name) {
        auto found = std::find_if(g_groups.begin(), g_groups.end(), [&](const Group& g) { return g.name == name; });
        NS_ABORT_MSG_IF(found == g_groups.end(), "no group " << name);
        return found;
    };
    for (const auto& text : Split(losses, '/'))
    {
        const auto parts = Split(text, ',');
        groupNamed(parts.at(0))->loss = std::stod(parts.at(1));
    }

    NodeContainer stationNodes;
    stationNodes.Create(stations);
    NodeContainer apNode;
    apNode.Create(1);
    NodeContainer server;
    server.Create(1);
    NodeContainer wireless(stationNodes, apNode);

    // All at one place, 1 m from the access point; the matrix says who hears whom.
    MobilityHelper mobility;
    auto places = CreateObject<ListPositionAllocator>();
    for (uint32_t i = 0; i < stations; i++)
    {
        places->Add(Vector(1, 0, 0));
    }
    places->Add(Vector(0, 0, 0));
    mobility.SetPositionAllocator(places);
    mobility.SetMobilityModel("ns3::ConstantPositionMobilityModel");
    mobility.Install(wireless);

    auto loss = CreateObject<MatrixPropagationLossModel>();
    loss->SetDefaultLoss(50);
    for (const auto& text : Split(hidden, '/'))
    {
        const auto parts = Split(text, ',');
        const auto one = groupNamed(parts.at(0));
        const auto other = groupNamed(parts.at(1));
        for (uint32_t a = one->first; a < one->first + one->count; a++)
        {
            for (uint32_t b = other->first; b < other->first + other->count; b++)
            {
                if (a != b)
                {
                    loss->SetLoss(stationNodes.Get(a)->GetObject<MobilityModel>(),
                                  stationNodes.Get(b)->GetObject<MobilityModel>(),
                                  300);
                }
            }
        }
    }
    auto channel = CreateObject<YansWifiChannel>();
    channel->SetPropagationLossModel(loss);
    channel->SetPropagationDelayModel(CreateObject<ConstantSpeedPropagationDelayModel>());

    YansWifiPhyHelper phy;
    phy.SetChannel(channel);
    if (!detection)
    {
        phy.DisablePreambleDetectionModel();
    }
    if (aggregates)
    {
        // As many antennas as streams and not more: ns-3 adds the surplus to the SNR, and would detect the preambles of
        // frames that collide at equal power, and decode the MPDUs of the longer one that the shorter does not overlap.
        uint8_t antennas = 1;
        for (const auto& group : g_groups)
        {
            antennas = std::max(antennas, ParseRate(standard, group.rate).streams);
        }
        phy.Set("ChannelSettings", StringValue("{0, " + std::to_string(width) + ", BAND_5GHZ, 0}"));
        phy.Set("Antennas", UintegerValue(antennas));
        phy.Set("MaxSupportedTxSpatialStreams", UintegerValue(antennas));
        phy.Set("MaxSupportedRxSpatialStreams", UintegerValue(antennas));
    }
    WifiHelper wifi;
    wifi.SetStandard(standard == "80211ax"   ? WIFI_STANDARD_80211ax
                     : standard == "80211ac" ? WIFI_STANDARD_80211ac
                     : standard == "80211a"  ? WIFI_STANDARD_80211a
                     : standard == "80211g"  ? WIFI_STANDARD_80211g
                                             : WIFI_STANDARD_80211b);
    wifi.SetRemoteStationManager("ns3::TableRateManager", "RtsCtsThreshold", UintegerValue(rtsThreshold));
    WifiMacHelper mac;
    mac.SetType("ns3::AdhocWifiMac", "QosSupported", BooleanValue(qos));
    auto devices = wifi.Install(phy, mac, wireless);
    wifi.AssignStreams(devices, 1000);

    for (uint32_t i = 0; i < devices.GetN(); i++)
    {
        auto device = DynamicCast<WifiNetDevice>(devices.Get(i));
        const bool isAp = i == stations;
        const auto& group = g_groups[isAp ? 0 : g_groupOf[i]];
        auto manager = DynamicCast<TableRateManager>(device->GetRemoteStationManager());
        const Rate rate = ParseRate(standard, group.rate);
        manager->SetOwn(rate);
        if (!aggregates)
        {
            manager->SetAttribute("NonUnicastMode", WifiModeValue(rate.mode));
        }
        // Once the MAC has started, which empties the set of basic rates. The ad-hoc MAC would make all mandatory rates
        // basic when it first meets a neighbour, and so answer 802.11b frames at 11 Mb/s: it has met them all.
        Simulator::Schedule(NanoSeconds(1), [=]() {
            for (const auto& basicRate : Split(basic, ','))
            {
                manager->AddBasicMode(WifiMode(ModeName(standard, basicRate)));
            }
            for (uint32_t other = 0; other < devices.GetN(); other++)
            {
                const auto address = Mac48Address::ConvertFrom(devices.Get(other)->GetAddress());
                for (const auto& known : device->GetPhy()->GetModeList())
                {
                    manager->AddSupportedMode(address, known);
                }
                if (aggregates)
                {
                    // What the ad-hoc MAC does when it first meets a neighbour: who is like oneself.
                    manager->AddAllSupportedMcs(address);
                    manager->AddStationHtCapabilities(address, device->GetMac()->GetHtCapabilities(0));
                    manager->AddStationVhtCapabilities(address, device->GetMac()->GetVhtCapabilities(0));
                    if (standard == "80211ax")
                    {
                        manager->AddStationHeCapabilities(address, device->GetMac()->GetHeCapabilities(0));
                    }
                }
                manager->RecordDisassociated(address);
            }
        });
        if (!isAp)
        {
            TableRateManager::s_toward[device->GetMac()->GetAddress()] = rate;
            if (group.loss > 0)
            {
                auto model = CreateObject<RateErrorModel>();
                model->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
                model->SetRate(group.loss);
                model->AssignStreams(500000 + i);
                device->GetPhy()->SetPostReceptionErrorModel(model);
            }
        }
        if (standard == "80211g")
        {
            // No 802.11b station near: the short slot.
            device->GetPhy()->SetSlot(MicroSeconds(9));
        }
        if (shortPreamble)
        {
            manager->SetShortPreambleEnabled(true);
        }
        const QueueSize limit(QueueSizeUnit::PACKETS, isAp ? apQueue : stationQueue);
        for (const auto category : {AC_BE, AC_BK, AC_VI, AC_VO})
        {
            if (qos)
            {
                device->GetMac()->GetTxopQueue(category)->SetMaxSize(limit);
            }
        }
        if (qos && txopUs > 0)
        {
            device->GetMac()->GetQosTxop(AC_BE)->SetTxopLimit(MicroSeconds(txopUs));
        }
        if (!qos)
        {
            device->GetMac()->GetTxopQueue(AC_BE_NQOS)->SetMaxSize(limit);
        }
    }

    PointToPointHelper wire;
    wire.SetDeviceAttribute("DataRate", StringValue(wireRate));
    wire.SetChannelAttribute("Delay", TimeValue(Seconds(delayMs / 1e3)));
    wire.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("100000p"));
    auto wired = wire.Install(apNode.Get(0), server.Get(0));

    InternetStackHelper stack;
    Ipv4StaticRoutingHelper routing;
    stack.SetRoutingHelper(routing);
    stack.Install(wireless);
    stack.Install(server);
    Ipv4AddressHelper addresses;
    addresses.SetBase("10.1.0.0", "255.255.0.0");
    auto onAir = addresses.Assign(devices);
    addresses.SetBase("10.2.0.0", "255.255.255.0");
    auto onWire = addresses.Assign(wired);
    TrafficControlHelper none;
    none.Uninstall(devices);
    none.Uninstall(wired);
    for (uint32_t i = 0; i < stations; i++)
    {
        routing.GetStaticRouting(stationNodes.Get(i)->GetObject<Ipv4>())
            ->SetDefaultRoute(onAir.GetAddress(stations), 1);
    }
    routing.GetStaticRouting(server.Get(0)->GetObject<Ipv4>())->SetDefaultRoute(onWire.GetAddress(0), 1);
    NeighborCacheHelper().PopulateNeighborCache();

    for (uint32_t i = 0; i <= stations; i++)
    {
        auto ip = wireless.Get(i)->GetObject<Ipv4L3Protocol>();
        const uint32_t interface = ip->GetInterfaceForDevice(devices.Get(i));
        ip->TraceConnectWithoutContext("Rx", MakeBoundCallback(&CountRx, interface));
    }

    auto random = CreateObject<UniformRandomVariable>();
    random->SetStream(7);
    const auto startOf = [&](Ptr<Application> app, double within) {
        app->SetStartTime(Seconds(random->GetValue(0, within)));
    };
    // One application and its sink. The first datagrams come at random instants, so that senders are not in step.
    const auto add = [&](Group* group, Ptr<Node> from, Ptr<Node> to, Ipv4Address address, uint16_t port, bool tcp) {
        const InetSocketAddress target(address, port);
        const std::string factory = tcp ? "ns3::TcpSocketFactory" : "ns3::UdpSocketFactory";
        PacketSinkHelper sink(factory, InetSocketAddress(Ipv4Address::GetAny(), port));
        auto sinks = sink.Install(to);
        const bool voice = group->app == "voice";
        if (voice)
        {
            if (port < VOICE_DOWN_PORT)
            {
                sinks.Get(0)->TraceConnectWithoutContext("Rx", MakeBoundCallback(&CountVoice, group));
            }
        }
        else
        {
            sinks.Get(0)->TraceConnectWithoutContext("Rx", MakeBoundCallback(&CountGood, group));
        }
        if (tcp)
        {
            BulkSendHelper bulk(factory, target);
            bulk.SetAttribute("MaxBytes", UintegerValue(0));
            bulk.SetAttribute("SendSize", UintegerValue(SEGMENT));
            startOf(bulk.Install(from).Get(0), 1);
            return;
        }
        // G.711: 160 bytes of voice and 12 of RTP each 20 ms, IP packets of 200 bytes.
        const uint32_t payload = voice ? 172 : group->payload;
        const double interval = voice ? 0.02 : payload * 8 / (group->offered * 1e6);
        UdpClientHelper client(target);
        client.SetAttribute("MaxPackets", UintegerValue(0));
        client.SetAttribute("PacketSize", UintegerValue(payload));
        client.SetAttribute("Interval", TimeValue(Seconds(interval)));
        auto sender = client.Install(from).Get(0);
        if (voice)
        {
            sender->SetAttribute("Tos", UintegerValue(0xc0));
            if (port < VOICE_DOWN_PORT)
            {
                sender->TraceConnectWithoutContext("Tx", MakeBoundCallback(&CountVoiceSent, group));
            }
        }
        startOf(sender, interval);
    };
    for (uint32_t i = 0; i < stations; i++)
    {
        auto group = &g_groups[g_groupOf[i]];
        const uint16_t port = FIRST_PORT + i;
        auto station = stationNodes.Get(i);
        const auto stationAddress = onAir.GetAddress(i);
        const auto serverAddress = onWire.GetAddress(1);
        const bool tcp = group->app.find("tcp") != std::string::npos;
        if (group->app == "voice")
        {
            add(group, station, server.Get(0), serverAddress, port, false);
            add(group, server.Get(0), station, stationAddress, VOICE_DOWN_PORT + i, false);
        }
        else if (group->app.rfind("up-", 0) == 0)
        {
            add(group, station, server.Get(0), serverAddress, port, tcp);
        }
        else
        {
            NS_ABORT_MSG_IF(group->app.rfind("down-", 0) != 0, "no application " << group->app);
            add(group, server.Get(0), station, stationAddress, port, tcp);
        }
    }

    Simulator::Stop(Seconds(seconds));
    const double before = CpuSeconds();
    Simulator::Run();
    const double cpu = CpuSeconds() - before;

    const double measured = (seconds - warmup) * 1e6;
    std::printf("{\"cpu_s\": %.6f, \"events\": %llu", cpu, static_cast<unsigned long long>(Simulator::GetEventCount()));
    const double attempts = TableRateManager::s_acknowledged + TableRateManager::s_unacknowledged;
    std::printf(", \"unacknowledged\": %.6f, \"groups\": {", attempts > 0 ? TableRateManager::s_unacknowledged / attempts : 0);
    for (size_t i = 0; i < g_groups.size(); i++)
    {
        const auto& group = g_groups[i];
        std::printf("%s\"%s\": {\"ip_mbps\": %.6f, \"goodput_mbps\": %.6f",
                    i == 0 ? "" : ", ",
                    group.name.c_str(),
                    group.ipBytes * 8 / measured,
                    group.goodBytes * 8 / measured);
        if (group.app == "voice")
        {
            const double lost = group.voiceSent == 0 ? 0 : 1 - double(group.voiceDelaysMs.size()) / group.voiceSent;
            std::printf(", \"up_loss\": %.8f, \"up_p99_ms\": %.6f", lost, Percentile(group.voiceDelaysMs, 0.99));
        }
        std::printf("}");
    }
    std::printf("}}\n");
    Simulator::Destroy();
    return 0;
}

//! Real hosts in network namespaces joined by a simulated radio in real time

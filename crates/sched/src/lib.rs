//! Queue disciplines as state machines, generic over the packet

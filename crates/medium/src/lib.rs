//! The 802.11 MAC in event time, generic over the frame

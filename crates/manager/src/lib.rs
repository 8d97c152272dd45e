//! The inline manager: classifier, hierarchical queues, virtual server, rate adaptation

//! Tables of events and what a reader knows after them.

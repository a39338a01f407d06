//! Level Zero objects.

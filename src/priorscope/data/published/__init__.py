"""Published data sets, bundled or fetched once and checked."""

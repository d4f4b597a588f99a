"""What developers run: budgets, benchmarks, comparisons, profiles. No service imports any of it."""

"""Back-tests of predictions on stored learning curves: `zoo bench backtest`."""

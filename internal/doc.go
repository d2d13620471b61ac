// Package internal is the map of Slipway in prose. It holds no code.

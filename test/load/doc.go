// Package load measures the budgets of the design on the built program, and prints them as
// a table with the machine. It judges nothing: a slow machine is no failure, so the numbers
// are for people to compare.
//
//	make load
package load

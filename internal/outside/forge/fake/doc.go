// Package fake is a forge in memory that behaves as GitHub does where a runner pool can
// tell: single-use configurations, names that are taken, jobs that go to any runner with
// their labels, a busy flag that lags, reruns that wait for the run's end, deliveries that
// are lost and repeated. It implements the contract, and Handler speaks it as GitHub's REST
// API, with the two pages on which a person makes an App of a manifest, so that the real
// client and a browser can be pointed at it. RunnerHandler is the runner's side,
// for programs that stand in for GitHub's runner; AddWebhook sends signed deliveries; and
// AdminHandler plays the people and the weather.
//
// It is for tests, the simulation and the demonstration. Nothing that it shows is evidence
// of how the real GitHub behaves.
package fake

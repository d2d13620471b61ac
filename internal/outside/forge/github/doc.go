// Package github is the forge contract on GitHub: github.com, GitHub Enterprise Cloud with
// a domain of its own, and GitHub Enterprise Server.
//
// Each credential has one budget that all its users share: how many requests run at once,
// how fast they follow, and how long to keep away when GitHub asks for it. A budget never
// looks at another's. The credential goes to the API's own host and nowhere else, and a
// refusal is told with the permission that is missing.
package github

package redact

import "strings"

// distinct reports whether a value is worth looking for: long enough, and no word that
// texts hold for other reasons.
func distinct(v string) bool {
	if len(v) < MinValue || common[strings.ToLower(v)] {
		return false
	}
	// ------, ======, 000000: rulers and fillers.
	return strings.Trim(v, v[:1]) != ""
}

var common = wordSet(`
	default disabled enabled false nothing unknown undefined required optional
	password passwd secret secrets token access private public username admin administrator
	localhost postgres postgresql mysql mariadb mongodb redis rabbitmq elastic elasticsearch kubernetes docker
	production staging development testing internal external primary replica
	service server client worker backup database system status running failed failure success error warning
	example example.com string number boolean object
`)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// secretLike reports whether a word looks made by a machine or chosen as a password,
// rather than written as a word: it holds a digit, or capitals inside, or is long.
func secretLike(s string) bool {
	if len(s) >= 24 {
		return true
	}
	lower, upper := false, false
	for i, c := range s {
		switch {
		case c >= '0' && c <= '9':
			return true
		case c >= 'a' && c <= 'z':
			lower = true
		case c >= 'A' && c <= 'Z' && i > 0:
			upper = true
		}
	}
	return lower && upper
}

package redact

import "slices"

// automaton finds all of many patterns in one pass over a text (Aho and Corasick): its
// time does not grow with the number of patterns.
//
// Of a long pattern only the head is in the automaton, which keeps it small; what follows
// the head is compared when the head is found. A text that goes on for a while as the
// secret does is masked for as long as it does.
type automaton struct {
	nodes []state
	tails []string // by pattern
	heads []int    // their lengths
	// first is where each letter leads from the start, at which most letters of a text find
	// the search.
	first [256]int32
}

type state struct {
	first, next int32 // the first child, and the next child of its parent
	fail        int32
	hit         int32 // the nearest state, itself included, at which a pattern ends; 0: none
	pattern     int32 // the pattern that ends here, from 1
	letter      byte
}

const headLength = 128

func newAutomaton(patterns []string) *automaton {
	a := &automaton{nodes: make([]state, 1), tails: []string{""}, heads: []int{0}}
	for _, p := range patterns {
		head := p[:min(len(p), headLength)]
		at := int32(0)
		for i := range len(head) {
			at = a.grow(at, head[i])
		}
		// Of patterns with one head, keep the longest: it covers the others as far as they go.
		if n := a.nodes[at].pattern; n > 0 {
			if tail := p[len(head):]; len(tail) > len(a.tails[n]) {
				a.tails[n] = tail
			}
			continue
		}
		a.nodes[at].pattern = int32(len(a.tails))
		a.tails, a.heads = append(a.tails, p[len(head):]), append(a.heads, len(head))
	}
	a.link()
	return a
}

func (a *automaton) child(at int32, letter byte) int32 {
	for c := a.nodes[at].first; c != 0; c = a.nodes[c].next {
		if a.nodes[c].letter == letter {
			return c
		}
	}
	return 0
}

func (a *automaton) grow(at int32, letter byte) int32 {
	if c := a.child(at, letter); c != 0 {
		return c
	}
	c := int32(len(a.nodes))
	a.nodes = append(a.nodes, state{letter: letter, next: a.nodes[at].first})
	a.nodes[at].first = c
	return c
}

// link sets, breadth first, where the search goes on when a letter does not fit.
func (a *automaton) link() {
	for c := a.nodes[0].first; c != 0; c = a.nodes[c].next {
		a.first[a.nodes[c].letter] = c
	}
	queue := []int32{0}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for c := a.nodes[at].first; c != 0; c = a.nodes[c].next {
			if at != 0 {
				a.nodes[c].fail = a.step(a.nodes[at].fail, a.nodes[c].letter)
			}
			a.nodes[c].hit = a.nodes[a.nodes[c].fail].hit
			if a.nodes[c].pattern > 0 {
				a.nodes[c].hit = c
			}
			queue = append(queue, c)
		}
	}
}

func (a *automaton) step(at int32, letter byte) int32 {
	for at != 0 {
		if c := a.child(at, letter); c != 0 {
			return c
		}
		at = a.nodes[at].fail
	}
	return a.first[letter]
}

// find returns where patterns are in s. Of several that end at one place it reports the
// longest: the others lie inside of it.
func (a *automaton) find(s string) []span {
	if a == nil || len(a.nodes) == 1 {
		return nil
	}
	var out []span
	at := int32(0)
	for i := range len(s) {
		at = a.step(at, s[i])
		hit := a.nodes[at].hit
		if hit == 0 {
			continue
		}
		n := a.nodes[hit].pattern
		to := i + 1
		for j := 0; j < len(a.tails[n]) && to < len(s) && s[to] == a.tails[n][j]; j++ {
			to++
		}
		out = append(out, span{i + 1 - a.heads[n], to})
	}
	return slices.Clip(out)
}

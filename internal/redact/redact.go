package redact

// Redactor replaces the secrets that it was made for. It may be used by several
// goroutines at once. The zero Redactor knows shapes only.
type Redactor struct {
	known matcher
}

// New makes a Redactor for values that are known to be secret. Values of less than
// MinValue bytes and common words are left out: replacing them would make a text
// unreadable and hide nothing.
func New(values ...string) *Redactor {
	return &Redactor{known: newMatcher(values)}
}

// MinValue is the shortest value that is looked for, in bytes.
const MinValue = 6

// String returns s with every secret replaced by Mark.
func (r *Redactor) String(s string) string {
	return shapes(r.known.replace(s))
}

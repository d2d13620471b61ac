package redact

import "strings"

// keywords end the key of a secret: a password_file, a secretName or a tokenUrl is none.
var keywords = newAutomaton(strings.Fields(`
	pass password passwd passphrase passcode pwd secret token credential credentials auth
	apikey api_key api-key accesskey access_key access-key privatekey private_key private-key
	secretkey secret_key secret-key secret_key_base encryptionkey encryption_key encryption-key
	signingkey signing_key signing-key accountkey account_key account-key
`))

const maxKey = 64

// pairs finds the values of keys that name a secret: in environments, YAML, JSON, Python,
// command lines and URLs. low is s in lower case.
func pairs(s, low string) []span {
	var out []span
	v := values{s: s}
	for _, k := range keywords.find(low) {
		to := k.to
		for to < len(s) && to < k.to+2 && s[to] >= '0' && s[to] <= '9' {
			to++
		}
		if to < len(s) && keyLetter(s[to]) {
			continue // the key goes on: the keyword does not end it
		}
		from := k.from
		for from > 0 && k.from-from < maxKey && keyLetter(s[from-1]) {
			from--
		}
		if p, ok := v.pair(from, to); ok {
			out = append(out, p)
		}
	}
	return out
}

func keyLetter(c byte) bool { return letterOrDigit(c) || c == '_' || c == '-' || c == '.' }

// separator is what stands between a key and its value.
type separator int

const (
	noSeparator separator = iota
	blank                 // --password hunter2
	colon
	assign
	field // name: DB_PASSWORD, value: hunter2
)

// separate reads what follows a key, up to the value.
func separate(s string, i int) (sep separator, value int) {
	at := skipQuote(s, i)
	if at < len(s) && s[at] == ']' { // os.environ['TOKEN'] = …
		at++
	}
	closed := at
	at = skipBlanks(s, at)
	switch {
	case strings.HasPrefix(s[at:], "=>"), strings.HasPrefix(s[at:], ":="):
		sep, at = assign, at+2
	case strings.HasPrefix(s[at:], "=") && !strings.HasPrefix(s[at:], "=="):
		sep, at = assign, at+1
	case strings.HasPrefix(s[at:], ":"):
		sep, at = colon, at+1
	case at == closed+1 && closed == i: // more than one blank parts the columns of a usage text
		return blank, skipQuote(s, at)
	default:
		if value, ok := valueField(s, closed); ok {
			return field, value
		}
		return noSeparator, 0
	}
	at = skipBlanks(s, at)
	if at+1 < len(s) && strings.IndexByte("bru", s[at]) >= 0 && (s[at+1] == '"' || s[at+1] == '\'') {
		at++ // Python's b'…'
	}
	return sep, skipQuote(s, at)
}

// valueField reads on to the value in: name: DB_PASSWORD\n  value: hunter2, and its JSON.
func valueField(s string, i int) (value int, ok bool) {
	end := min(len(s), i+80)
	for i < end && strings.IndexByte(", \t\r\n", s[i]) >= 0 {
		i++
	}
	i = skipQuote(s, i)
	if !strings.HasPrefix(s[i:], "value") {
		return 0, false
	}
	i = skipBlanks(s, skipQuote(s, i+len("value")))
	if !strings.HasPrefix(s[i:], ":") {
		return 0, false
	}
	return skipQuote(s, skipBlanks(s, i+1)), true
}

func skipBlanks(s string, i int) int {
	for end := min(len(s), i+16); i < end && (s[i] == ' ' || s[i] == '\t'); {
		i++
	}
	return i
}

// skipQuote skips one quote, and the backslashes of text in text before it.
func skipQuote(s string, i int) int {
	j := i
	for end := min(len(s), i+8); j < end && s[j] == '\\'; {
		j++
	}
	if j < len(s) && (s[j] == '"' || s[j] == '\'' || s[j] == '`') {
		return j + 1
	}
	return i
}

// pair judges the pair whose key is s[from:to].
func (v *values) pair(from, to int) (span, bool) {
	s := v.s
	if strings.HasSuffix(s[:from], "//") {
		return span{}, false // the user in an address; addresses knows those
	}
	sep, at := separate(s, to)
	if sep == noSeparator {
		return span{}, false
	}
	key := s[from:to]
	if sep == blank && (!strings.HasPrefix(key, "-") || wordBefore(s, from)) {
		return span{}, false // anywhere but after a flag, a blank parts words of a sentence
	}
	quoted := at > 0 && (s[at-1] == '"' || s[at-1] == '\'')
	value := v.at(at)
	text := s[value.from:value.to]
	if !harmful(text) || namesObject(key) {
		return span{}, false
	}
	if sep == assign && !quoted && sourceCode(text) || sep == colon && key == "PASS" { // the result of a test
		return span{}, false
	}
	if weakKey(key) && !(len(text) >= MinValue && hasDigit(text) && hasLetter(text)) {
		return span{}, false // "pass: 12", "auth: enabled"
	}
	switch sep {
	case blank:
		return value, !strings.HasPrefix(text, "-") && !prose[lowWord(text)] && !metavariable(text)
	case colon:
		return value, quoted || secretLike(text) || endsLine(s, value.to) && !prose[lowWord(text)]
	}
	return value, true
}

// sourceCode says whether a value is an expression of a program, as tracebacks quote them:
// token = os.environ["TOKEN"]. It asks for a dotted name that is called or indexed.
func sourceCode(v string) bool {
	at := strings.IndexAny(v, "([")
	if at <= 0 {
		return false
	}
	names := strings.Split(v[:at], ".")
	for _, name := range names {
		if name == "" || name[0] >= '0' && name[0] <= '9' || strings.ContainsFunc(name, func(r rune) bool { return r >= 0x80 || r != '_' && !letterOrDigit(byte(r)) }) {
			return false
		}
	}
	return len(names) > 1
}

// lowWord is a short text in lower case; a long one is no word of a list anyway.
func lowWord(s string) string {
	if len(s) > 24 {
		return ""
	}
	return strings.ToLower(s)
}

// harmful says whether a value is one that somebody could misuse: not empty, not a
// placeholder, not already redacted.
func harmful(v string) bool {
	switch {
	case v == "" || nothing[lowWord(v)]:
		return false
	case strings.HasPrefix(v, "<"), strings.HasPrefix(v, "${"), strings.HasPrefix(v, "$("), strings.HasPrefix(v, "{{"):
		return false
	case strings.HasPrefix(v, "$") && len(v) < maxKey && !hasDigit(v): // a shell's variable
		return false
	case strings.HasPrefix(v, "%") && len(v) <= 3: // a format
		return false
	case strings.Trim(v[:min(len(v), maxKey)], "*•xX.-_") == "":
		return false
	case strings.HasPrefix(v, "{"), strings.HasPrefix(v, "["), strings.HasPrefix(v, "("):
		return false // what is inside is looked at by itself
	case strings.HasPrefix(v, "//"): // token://…: the scheme of an address
		return false
	}
	return true
}

// nothing are values that say that there is no secret.
var nothing = wordSet(`null none nil true false undefined empty unset no yes on off n/a na ~ todo`)

// prose are words that follow a key in a sentence or a usage text, and are no values.
var prose = wordSet(`
	a an and are as at be by can cannot could expected expired failed failure found for from had has have if in invalid is it its
	may missing mismatch must no not of on or provided required rejected requires revoked set should string str text that the then this to
	unauthorized unexpected unknown unsupported value was were when will with would without eof identifier number int integer bool
	boolean file files flag option options name names type auth authentication password secret token key error denied disabled enabled
	bearer basic ok valid changed updated created deleted rotated removed unchanged stored absent present here there manager store
	optional default again before after
`)

// metavariable says whether a word stands for a value in a usage text: TOKEN, [token].
func metavariable(s string) bool {
	return len(s) > 1 && len(s) < maxKey && s == strings.ToUpper(s) && !hasDigit(s)
}

// weakKey says whether a key is a word that means other things as well: its value must
// look like a secret by itself.
func weakKey(key string) bool {
	low := strings.ToLower(strings.TrimLeft(key, "-"))
	for _, w := range []string{"pass", "auth"} {
		if head, ok := strings.CutSuffix(low, w); ok {
			return head == "" || !strings.ContainsAny(head[len(head)-1:], "_-.") // compass, oauth
		}
	}
	return false
}

// namesObject says whether a key's value is the name of a Kubernetes Secret.
func namesObject(key string) bool {
	low := strings.ToLower(plainKey.Replace(key))
	for _, w := range []string{"existingsecret", "pullsecret", "tlssecret", "usesecret", "createsecret", "fromsecret"} {
		if strings.HasSuffix(low, w) {
			return true
		}
	}
	return false
}

var plainKey = strings.NewReplacer("_", "", "-", "")

func hasLetter(s string) bool {
	for i := range len(s) {
		if letterOrDigit(s[i]) && (s[i] < '0' || s[i] > '9') {
			return true
		}
	}
	return false
}

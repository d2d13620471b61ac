package redact

import (
	"regexp"
	"strings"
)

// shape is a token that its maker gave a beginning to know it by. The expressions start
// with that beginning as it stands: so a text without it is passed over quickly.
type shape struct {
	form *regexp.Regexp
	is   func(s string) bool // a last look at a match; nil: always
}

var tokens = []shape{
	// A private key, to its end or to the end of what there is of it. Certificates and
	// public keys are public.
	{form: regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]{0,40}(?:PRIVATE KEY|PARAMETERS|MESSAGE)[A-Z0-9 ]{0,20}-----.*?(?:-----END [A-Z0-9 ]{0,60}-----|\z)`)},
	// JSON Web Tokens.
	{form: regexp.MustCompile(`eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+){0,2}`)},
	{form: regexp.MustCompile(`AKIA[0-9A-Z]{16}`)},
	{form: regexp.MustCompile(`ASIA[0-9A-Z]{16}`)},
	{form: regexp.MustCompile(`gh[pousr]_[A-Za-z0-9]{16,}`)},
	{form: regexp.MustCompile(`github_pat_[A-Za-z0-9_]{16,}`)},
	{form: regexp.MustCompile(`gl(?:pat|ptt|dt|rt|cbt|ft|soat|agent|imt|oas)-[A-Za-z0-9_.-]{16,}`)},
	{form: regexp.MustCompile(`xox[abeoprs]-[A-Za-z0-9-]{8,}`)},
	{form: regexp.MustCompile(`sk[-_][A-Za-z0-9_-]{16,}`), is: hasDigit},
	{form: regexp.MustCompile(`rk_[A-Za-z0-9_-]{16,}`), is: hasDigit},
	{form: regexp.MustCompile(`slw_[A-Za-z0-9]{8,}`)},
	{form: regexp.MustCompile(`AIza[0-9A-Za-z_-]{35}`)},
	{form: regexp.MustCompile(`ya29\.[0-9A-Za-z_-]{16,}`)},
	{form: regexp.MustCompile(`GOCSPX-[0-9A-Za-z_-]{16,}`)},
	{form: regexp.MustCompile(`npm_[A-Za-z0-9]{36}`)},
	{form: regexp.MustCompile(`pnu_[A-Za-z0-9]{24,}`)},
	{form: regexp.MustCompile(`dckr_pat_[A-Za-z0-9_-]{20,}`)},
	{form: regexp.MustCompile(`hvs\.[A-Za-z0-9_-]{20,}`)},
}

// encodedTokens find a token of ours in Base64, by where in a group of three bytes its
// beginning slw_ stands, and in hexadecimal. Its value may not be known any more: whoever
// minted it may have been killed meanwhile. They may begin in the middle of a word, since
// what is encoded with the token goes before it.
var encodedTokens = []*regexp.Regexp{ // no longer than a token is: a next line may go on in the same letters
	regexp.MustCompile(`c2x3X[z0-3][A-Za-z0-9+/_-]{24,65}(?:=|%3[dD]){0,2}`),
	regexp.MustCompile(`Nsd1[89][A-Za-z0-9+/_-]{24,65}(?:=|%3[dD]){0,2}`),
	regexp.MustCompile(`zbHdf[A-Za-z0-9+/_-]{24,66}(?:=|%3[dD]){0,2}`),
	regexp.MustCompile(`736[cC]775[fF](?:[0-9a-fA-F]{2}){18,49}`),
}

func encoded(s string) (out []span) {
	for _, form := range encodedTokens {
		for _, m := range form.FindAllStringIndex(s, -1) {
			out = append(out, span{m[0], m[1]})
		}
	}
	return out
}

// shapes finds what looks like a secret by itself. low is s in lower case.
func shapes(s, low string) []span {
	var out []span
	for _, t := range tokens {
		for _, m := range t.form.FindAllStringIndex(s, -1) {
			if !wordBefore(s, m[0]) && (t.is == nil || t.is(s[m[0]:m[1]])) {
				out = append(out, span{m[0], m[1]})
			}
		}
	}
	out = append(out, addresses(s)...)
	return append(out, headers(s, low)...)
}

// wordBefore says whether what starts at i is only the end of a longer word. Mark counts
// as a word: it stands for one, and redacting twice must find no more than redacting once.
func wordBefore(s string, i int) bool {
	return i > 0 && (letterOrDigit(s[i-1]) || s[i-1] == '_') || strings.HasSuffix(s[:i], Mark)
}

func letterOrDigit(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// addresses finds scheme://user:PASSWORD@host and scheme://TOKEN@host.
func addresses(s string) []span {
	var out []span
	for i := 0; ; {
		next := strings.Index(s[i:], "://")
		if next < 0 {
			return out
		}
		from := i + next + len("://")
		to := from
		for to < len(s) && !strings.ContainsRune(" \t\r\n/?#\"'`", rune(s[to])) {
			to++
		}
		i = to
		at := strings.LastIndexByte(s[from:to], '@')
		if at < 0 || next == 0 && from == len("://") {
			continue
		}
		user, password, both := strings.Cut(s[from:from+at], ":")
		switch {
		case both && password != "":
			out = append(out, span{from + len(user) + 1, from + at})
		case !both && len(user) >= 16 && secretLike(user):
			out = append(out, span{from, from + at})
		}
	}
}

// header is an HTTP header, or what stands in one, with its secret. Group 1 is the secret.
type header struct {
	word string // in lower case
	form *regexp.Regexp
	ends string // when set, the secret goes on to one of these
	is   func(s string) bool
}

var headerList = []header{
	{word: "authorization", is: notWord,
		form: regexp.MustCompile(`(?i)^authorization\\*["']?\s{0,9}[:=]\s{0,9}\\*["']?(?:(?:bearer|basic|token|apikey|negotiate|splunk)\s{1,9})?([^\s"'\\,;<>]{6,})`)},
	{word: "authorization", ends: "\r\n",
		form: regexp.MustCompile(`(?i)^authorization\\*["']?\s{0,9}[:=]\s{0,9}\\*["']?(?:digest|aws4-hmac-sha256)\s{1,9}([^\r\n])`)},
	{word: "bearer", form: regexp.MustCompile(`(?i)^bearer\s{1,9}([A-Za-z0-9._~+/-]{6,}={0,2})`), is: secretLike},
	{word: "basic", form: regexp.MustCompile(`(?i)^basic\s{1,9}([A-Za-z0-9._~+/-]{6,}={0,2})`), is: secretLike},
	{word: "cookie", ends: "\r\n\"'", form: regexp.MustCompile(`(?i)^cookie\\*["']?\s{0,9}:\s{0,9}([^\r\n"'=]{1,200}=)`)},
}

const maxHeader = 16 << 10

// headers finds the secrets of HTTP's headers.
func headers(s, low string) []span {
	var out []span
	for _, h := range headerList {
		for i := 0; ; {
			next := strings.Index(low[i:], h.word)
			if next < 0 {
				break
			}
			at := i + next
			i = at + len(h.word)
			if wordBefore(s, at) {
				continue
			}
			m := h.form.FindStringSubmatchIndex(s[at:min(len(s), at+maxHeader)])
			if m == nil {
				continue
			}
			p := span{at + m[2], at + m[3]}
			for h.ends != "" && p.to < len(s) && strings.IndexByte(h.ends, s[p.to]) < 0 {
				p.to++
			}
			if h.is == nil || h.is(s[p.from:p.to]) {
				out = append(out, p)
				i = max(i, p.to)
			}
		}
	}
	return out
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

// notWord keeps "Authorization: required" and the like as they are.
func notWord(s string) bool { return secretLike(s) || len(s) >= 16 }

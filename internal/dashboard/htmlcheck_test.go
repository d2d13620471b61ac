package dashboard

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// element is an element of a parsed page; tests ask it for others inside of it.
type element struct{ *html.Node }

func parse(t testing.TB, page string) element {
	t.Helper()
	n, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	return element{n}
}

// all finds the elements that a selector describes: names, #ids, .classes and [attributes],
// with blanks between an element and one inside of it.
func (e element) all(selector string) []element {
	steps := strings.Fields(selector)
	found := []element{e}
	for _, s := range steps {
		var next []element
		for _, f := range found {
			for n := range f.Descendants() {
				if n.Type == html.ElementNode && matches(element{n}, s) && !slices.Contains(next, element{n}) {
					next = append(next, element{n})
				}
			}
		}
		found = next
	}
	return found
}

// one finds the only element of a selector.
func (e element) one(t testing.TB, selector string) element {
	t.Helper()
	found := e.all(selector)
	if len(found) != 1 {
		t.Fatalf("%d elements are %q, want one, in:\n%s", len(found), selector, e.source())
	}
	return found[0]
}

func (e element) has(selector string) bool { return len(e.all(selector)) > 0 }

func (e element) attr(key string) (string, bool) {
	for _, a := range e.Attr {
		if a.Key == key {
			return a.Val, true
		}
	}
	return "", false
}

func (e element) get(key string) string {
	v, _ := e.attr(key)
	return v
}

// text is what a reader reads, with single blanks.
func (e element) text() string {
	var b strings.Builder
	for n := range e.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		} else if n.Type == html.ElementNode && !slices.Contains([]string{"b", "a", "code", "span", "time", "del", "ins"}, n.Data) {
			b.WriteByte(' ')
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func (e element) source() string {
	var b strings.Builder
	if err := html.Render(&b, e.Node); err != nil {
		return err.Error()
	}
	return b.String()
}

// matches reads one step of a selector: button.btn[type=submit].
func matches(e element, step string) bool {
	for step != "" {
		kind := step[0]
		switch kind {
		case '#', '.', '[':
			step = step[1:]
		default:
			kind = 0
		}
		end := strings.IndexAny(step, "#.[")
		if kind == '[' {
			end = strings.IndexByte(step, ']')
		}
		if end < 0 {
			end = len(step)
		}
		word := step[:end]
		step = strings.TrimPrefix(step[end:], "]")
		var ok bool
		switch kind {
		case '#':
			ok = e.get("id") == word
		case '.':
			ok = slices.Contains(strings.Fields(e.get("class")), word)
		case '[':
			key, want, valued := strings.Cut(word, "=")
			got, has := e.attr(key)
			ok = has && (!valued || got == want)
		default:
			ok = e.Data == word
		}
		if !ok {
			return false
		}
	}
	return true
}

// checkPage holds what is true of every page: it is whole, it can be used without seeing
// it, and it keeps to the content policy.
func checkPage(t testing.TB, page string) {
	t.Helper()
	for _, fault := range faultsOf(parse(t, page)) {
		t.Error(fault)
	}
	if strings.ContainsFunc(page, isControl) {
		t.Error("the page holds control codes")
	}
}

func faultsOf(doc element) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if len(doc.all("html[lang=en]")) != 1 || len(doc.all("title")) != 1 || len(doc.all("main#content")) != 1 {
		fault("want one html with its language, one title and one main")
	}
	if n := len(doc.all("h1")); n != 1 {
		fault("%d h1, want one", n)
	}
	ids := map[string]bool{}
	for _, e := range doc.all("[id]") {
		if id := e.get("id"); ids[id] {
			fault("the ID %q stands twice", id)
		} else {
			ids[id] = true
		}
	}
	level := 0
	for n := range doc.Descendants() {
		e := element{n}
		if n.Type != html.ElementNode {
			continue
		}
		for _, a := range n.Attr {
			switch {
			case strings.HasPrefix(a.Key, "on"), a.Key == "style", strings.HasPrefix(a.Key, "hx-on"), a.Key == "hx-vals" && strings.HasPrefix(a.Val, "js"):
				fault("%s has an inline %s=%q", n.Data, a.Key, a.Val)
			case slices.Contains([]string{"href", "src", "action", "formaction", "hx-get", "hx-sse:connect"}, a.Key):
				if u, err := url.Parse(a.Val); err != nil || u.Scheme != "" && u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "about" {
					fault("%s leads to %q", n.Data, a.Val)
				} else if u.Host != "" && !strings.Contains(e.get("rel"), "noreferrer") {
					fault("%s leads elsewhere without rel=noreferrer: %q", n.Data, a.Val)
				}
			case slices.Contains([]string{"for", "aria-labelledby", "aria-describedby"}, a.Key) && !ids[a.Val]:
				fault("%s names the ID %q, which is not there", a.Key, a.Val)
			}
		}
		switch n.Data {
		case "script":
			if !strings.HasPrefix(e.get("src"), "/assets/") || e.text() != "" {
				fault("a script that is not an asset: %s", e.source())
			}
		case "style", "iframe", "object", "embed", "base":
			fault("the page has a %s", n.Data)
		case "input", "select", "textarea":
			if e.get("type") != "hidden" && !doc.has("label[for="+e.get("id")+"]") {
				fault("%s has no label", e.source())
			}
		case "button", "a", "summary", "th":
			if e.text() == "" {
				fault("%s has no text", e.source())
			}
		case "form":
			if m := e.get("method"); m != "get" && m != "post" {
				fault("a form with the method %q", m)
			}
		case "h1", "h2", "h3":
			if now := int(n.Data[1] - '0'); now > level+1 {
				fault("%s %q comes after h%d", n.Data, e.text(), level)
			} else {
				level = now
			}
		case "time":
			if e.get("datetime") == "" || e.get("title") == "" {
				fault("%s does not say exactly when", e.source())
			}
		}
	}
	return faults
}

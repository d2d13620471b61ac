package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	password = `p@ss/w"ord'\ü 9+x` // as awkward as passwords get
	token    = "slw_Ab3xQ7PzLmN0vTyUiOp"
	pem      = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA1c7+9z5Pad7OejecsQ0bu3aozN3tihPmUzGnqzKXyLJp9x7M\nq8jz0lYb8cFQJ2mPqDUJm8wTfZJ3Ah6Ww0rXcVbYk2k1J5pQ3oM8oZ1yVwXhVQ==\n-----END RSA PRIVATE KEY-----"
)

// World: pure.
func TestKnownValuesAreFoundInEveryForm(t *testing.T) {
	t.Parallel()
	quoted, err := json.Marshal(password)
	if err != nil {
		t.Fatal(err)
	}
	inner := strings.Trim(string(quoted), `"`)
	std, raw := base64.StdEncoding, base64.RawURLEncoding
	cases := map[string]string{
		"raw":                        password,
		"query-escaped":              url.QueryEscape(password),
		"path-escaped":               url.PathEscape(password),
		"lower-case hex escapes":     strings.ToLower(url.PathEscape(password)),
		"every byte escaped":         percent(password),
		"JSON":                       inner,
		"JSON in ASCII":              strings.ReplaceAll(inner, "ü", `\u00fc`),
		"JSON in JSON":               strings.ReplaceAll(strings.ReplaceAll(inner, `\`, `\\`), `"`, `\"`),
		"Python's repr":              `p@ss/w"ord\'\\ü 9+x`,
		"Python's repr of bytes":     `p@ss/w"ord\'\\\xc3\xbc 9+x`,
		"a shell's quotes":           strings.ReplaceAll(password, "'", `'\''`),
		"YAML's quotes":              strings.ReplaceAll(password, "'", "''"),
		"HTML":                       `p@ss/w&#34;ord&#39;\ü 9+x`,
		"Base64":                     std.EncodeToString([]byte(password)),
		"Base64 for URLs":            raw.EncodeToString([]byte(password)),
		"Base64 in an URL":           url.QueryEscape(std.EncodeToString([]byte(password))),
		"hex":                        hex.EncodeToString([]byte(password)),
		"hex in capitals":            strings.ToUpper(hex.EncodeToString([]byte(password))),
		"behind blanks, cut off":     "  " + password,
		"Base64 broken by a newline": breakLine(std.EncodeToString([]byte(password)), 11, "\n"),
		"Base64 broken with indents": breakLine(std.EncodeToString([]byte(password)), 7, "\r\n    "),
		"Base64 broken in a string":  breakLine(std.EncodeToString([]byte(password)), 13, `\n`),
	}
	r := New(password)
	for name, form := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := "before [" + Mark + "] after"
			if strings.HasPrefix(form, " ") {
				want = "before [  " + Mark + "] after"
			}
			if got := r.String("before [" + form + "] after"); got != want {
				t.Errorf("String(%q) = %q, want %q", form, got, want)
			}
		})
	}
}

func percent(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, "%%%02x", s[i])
	}
	return b.String()
}

func breakLine(s string, at int, with string) string { return s[:at] + with + s[at:] }

// World: pure. A Docker config, a Kubernetes Secret and HTTP's Basic all put a secret into
// the middle of what they encode.
func TestValuesInsideOfBase64AreFoundAtEachAlignment(t *testing.T) {
	t.Parallel()
	r := New("hunter2-horse")
	for before := range 7 {
		for after := range 7 {
			plain := strings.Repeat("u", before) + "hunter2-horse" + strings.Repeat("v", after)
			for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding} {
				text := enc.EncodeToString([]byte(plain))
				got := r.String("x: " + text)
				if !strings.Contains(got, Mark) {
					t.Errorf("%d before, %d after: %q stays as it is", before, after, text)
				}
				rest := strings.ReplaceAll(strings.TrimPrefix(got, "x: "), Mark, "")
				if len(rest) > len(text)-len("hunter2-horse")*4/3+4 {
					t.Errorf("%d before, %d after: %q leaves %q", before, after, text, got)
				}
			}
		}
	}
}

// World: pure.
func TestLinesOfAValue(t *testing.T) {
	t.Parallel()
	key := "{\n  \"type\": \"service_account\",\n  \"private_key_id\": \"9f8e7d6c5b4a\"\n}\n"
	r := New(pem, key)
	for name, tc := range map[string]struct{ in, want string }{
		"one line of it":                              {"got MIIEpAIBAAKCAQEA1c7+9z5Pad7OejecsQ0bu3aozN3tihPmUzGnqzKXyLJp9x7M here", "got " + Mark + " here"},
		"with another line end":                       {"x " + strings.ReplaceAll(pem, "\n", "\r\n") + " y", "x " + Mark + " y"},
		"written with \\n":                            {"x " + strings.ReplaceAll(pem, "\n", `\n`) + " y", "x " + Mark + " y"},
		"a brace alone is ordinary":                   {"{\n  \"a\": 1\n}\n", "{\n  \"a\": 1\n}\n"},
		"a line without its comma":                    {`got "type": "service_account" there`, "got " + Mark + " there"},
		"a line of a key that is no secret by itself": {"-----BEGIN RSA PRIVATE", "-----BEGIN RSA PRIVATE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(r.String(tc.in), tc.want); d != "" {
				t.Errorf("got, want (-, +):\n%s", d)
			}
		})
	}
}

// World: pure.
func TestOverlappingValuesLeaveNothing(t *testing.T) {
	t.Parallel()
	r := New("alpha-beta", "beta-gamma", "lpha-b", "alpha-beta-gamma-delta-epsilon")
	for in, want := range map[string]string{
		"alpha-beta-gamma": Mark, "xalpha-betabeta-gammay": "x" + Mark + "y",
		"alpha-beta-gamma-delta": Mark + "-delta", "alpha-bet": "a" + Mark + "et",
	} {
		if got := r.String(in); got != want {
			t.Errorf("String(%q) = %q, want %q", in, got, want)
		}
	}
}

// World: pure.
func TestShortAndCommonValuesAreNotLookedFor(t *testing.T) {
	t.Parallel()
	r := New("", "abc", "true", "password", "Postgres", "localhost", "------", "      ", "\n")
	const text = "abc true password Postgres localhost ------ the end"
	if got := r.String(text); got != text {
		t.Errorf("String(%q) = %q", text, got)
	}
}

// World: pure. Each line: what must go is in «», and goes as a whole.
func TestShapes(t *testing.T) {
	t.Parallel()
	lines := `
Authorization: Bearer «abcdef.ghijkl-123»
authorization: Basic «dXNlcjpwYXNzd29yZA==»
curl -H "Authorization: token «0123456789abcdef0123»" https://api.example.com
{"Authorization":"Bearer «eyJhbGciOi»"}
Proxy-Authorization: Digest «username="Mufasa", realm="x", response="6629fae49393a05397450978507c4ef1"»
sent bearer «Xy7pQ2mN8kL1» to it
Set-Cookie: «session=8f14e45fceea167a; Path=/»
postgres://guestbook:«s3cr3t»@db.example.com:5432/app
redis://:«only-password»@cache:6379/0
amqp://user:«p@ss»@mq/vhost
https://«ghp_abcdefghijklmnopqrstuvwxyz0123456789»@github.com/a/b.git
git clone https://x-access-token:«v1.0123456789»@github.com/a/b
token is «eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U» ok
AWS key «AKIAIOSFODNN7EXAMPLE» and «ASIAIOSFODNN7EXAMPLE»
aws_secret_access_key = «wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY»
«github_pat_11ABCDEFG0abcdefghijkl_MNOPQRSTUVWXYZ» «gho_16C7e42F292c6912E7710c838347Ae178B4a»
gitlab «glpat-ABCdef123456_-789xyz», slack «xoxb-123456789012-abcdefGHIJ», openai «sk-proj-abc123DEF456ghi789»
«slw_Ab3xQ7PzLmN0vTyUiOp» google «AIzaSyA1234567890abcdefghijklmnopqrstuv»
PASSWORD=«hunter»
export DB_PASSWORD="«correct horse»"
PGPASSWORD=«swordfish» psql -h db
api_key: «abcd»
  clientSecret: «kQ9»
password: '«it''s»'
"password": "«quo\"ted»",
{"db": {"password":"«x y z»", "port": 5432}}
{\"token\":\"«abc-def»\",\"id\":1}
{'api_key': '«k-1»', 'user': 'bob'}
{b'secret': b'«raw»'}
Config(password='«pw»', host='db')
?access_token=«abc123»&page=2&api-key=«zzz»
mysql --user root --password «hunter» --host db
mysql --password=«hunter» app
tool -token "«a b»"
secret_key_base => "«beef»"
password := "«literal»"
config["password"] = "«bracketed»"
os.environ['API_TOKEN'] = '«tok»'
connect failed: password=«abc» user=bob
msg="login" token=«abc» level=info
SECRET_KEY=«django-insecure-x»
- name: DB_PASSWORD\n  value: «hunter»
{"name":"API_TOKEN","value":"«abc»"}
auth: «Xk29pQ7m»
db_pass=«letmein»
passphrase: «open»
ENCRYPTION_KEY=«0123»
`
	r := New()
	for line := range strings.Lines(strings.TrimSpace(lines)) {
		line = strings.ReplaceAll(strings.TrimSuffix(line, "\n"), `\n  `, "\n  ")
		in := strings.NewReplacer("«", "", "»", "").Replace(line)
		var want strings.Builder
		for rest := line; rest != ""; {
			before, after, found := strings.Cut(rest, "«")
			want.WriteString(before)
			if !found {
				break
			}
			_, rest, _ = strings.Cut(after, "»")
			want.WriteString(Mark)
		}
		if got := r.String(in); got != want.String() {
			t.Errorf("got, want:\n  %s\n  %s", got, want.String())
		}
	}
}

// World: pure.
func TestPrivateKeys(t *testing.T) {
	t.Parallel()
	certificate := strings.ReplaceAll(pem, "RSA PRIVATE KEY", "CERTIFICATE")
	for in, want := range map[string]string{
		"a\n" + pem + "\nb":                            "a\n" + Mark + "\nb",
		"a\n" + pem[:120]:                              "a\n" + Mark,
		"a " + strings.ReplaceAll(pem, "\n", `\n`):     "a " + Mark,
		"a\n" + certificate + "\nb":                    "a\n" + certificate + "\nb",
		pem + "\nbetween\n" + pem:                      Mark + "\nbetween\n" + Mark,
		"-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blb\n": Mark,
	} {
		if got := New().String(in); got != want {
			t.Errorf("String(%.40q…) = %q, want %q", in, got, want)
		}
	}
}

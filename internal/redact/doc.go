// Package redact replaces secrets in text that people may read: a failed command's
// output, a crashed action's line, an error's words.
//
// It knows two kinds. Known values are given to New, and are found in every form in which
// programs print them: encoded for a URL, in JSON, as Base64, in hexadecimal. Shapes are
// what secrets commonly look like: a token with a known prefix, a private key, the value
// behind "password=".
//
// Redact before cutting a text to a length, never after: half a secret has no shape.
//
// It takes time linear in the text, uses the standard library only, and touches nothing
// outside of its arguments. It is a net, not a wall: what an action encrypts or prints
// letter by letter goes through. So it is no reason to print a secret.
package redact

// Mark stands where a secret stood.
const Mark = "<redacted>"

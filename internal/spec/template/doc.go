// Package template renders a driver's values template, which is Jinja.
//
// The promise is narrow and strict: what it renders, real Jinja2 with StrictUndefined
// renders to the same characters; what it does not render so, it refuses, with the line
// and a reason. A corpus of templates with Jinja2's own output holds it to that.
//
// It is written here and not taken from the library gonja because a template is somebody
// else's text that decides what runs in a cluster. Measured against the same corpus,
// gonja renders other characters than Jinja2 without an error (None as nothing, -7 // 2
// as -3, a line end inside of {{ }} as part of a name), reads "missing" in a loop's
// condition as false in spite of StrictUndefined, refuses ('a' if b else c), and can be
// bounded in neither time nor memory.
//
// So there are no Go methods, files or other templates within its reach: only the values
// that it is given. It must never read a clock for its result, a file, or an environment
// variable.
package template

package template

import (
	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// upper and lower are Python's, which know that one letter can become two: ß, SS.
func upper(s string) string { return cases.Upper(language.Und).String(s) }
func lower(s string) string { return cases.Lower(language.Und).String(s) }

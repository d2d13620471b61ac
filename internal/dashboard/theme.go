package dashboard

import (
	"net/http"
	"time"
)

const themeCookie = "slipway_theme"

// themeOf is the colours that the reader chose; empty: those of the system.
func themeOf(r *http.Request) string {
	c, err := r.Cookie(themeCookie)
	if err != nil || c.Value != "light" && c.Value != "dark" {
		return ""
	}
	return c.Value
}

func (s *site) doTheme(r *request) error {
	c := &http.Cookie{Name: themeCookie, Value: r.form("theme"), Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode,
		MaxAge: int((365 * 24 * time.Hour).Seconds())}
	if c.Value != "light" && c.Value != "dark" {
		c.Value, c.MaxAge = "", -1
	}
	http.SetCookie(r.w, c)
	r.redirect(localPath(r.form("return")))
	return nil
}

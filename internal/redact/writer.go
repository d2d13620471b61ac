package redact

import "io"

// Writer redacts what is written to it, and passes it on.
func (r *Redactor) Writer(w io.Writer) io.WriteCloser { return &writer{r: r, w: w} }

type writer struct {
	r   *Redactor
	w   io.Writer
	buf []byte
}

func (w *writer) Write(p []byte) (int, error) { w.buf = append(w.buf, p...); return len(p), nil }
func (w *writer) Close() error {
	_, err := io.WriteString(w.w, w.r.String(string(w.buf)))
	return err
}

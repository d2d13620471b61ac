package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// runCheck looks at a running release from outside, as a reader does: it is ready, it is
// this version, and (unless told to only read) what is written arrives in the book.
func runCheck(ctx context.Context, c configuration, arguments []string, out io.Writer) error {
	flags := flag.NewFlagSet("check", flag.ContinueOnError)
	flags.SetOutput(out)
	expected := flags.String("expect-version", version, "the version that must be running")
	readOnly := flags.Bool("read-only", false, "write no entry; for when the worker is stopped")
	if err := flags.Parse(arguments); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	ctx, cancel := context.WithTimeout(ctx, 4*c.CheckTimeout)
	defer cancel()
	url := strings.TrimRight(c.WebURL, "/")
	fmt.Fprintf(out, "guestbook %s: checking %s\n", version, url)

	var found about
	var id int64
	checks := []struct {
		name string
		do   func() error
	}{
		{"it is ready", func() error { return get(ctx, url+"/readyz", nil) }},
		{"it is version " + *expected, func() error {
			if err := get(ctx, url+"/version", &found); err != nil {
				return err
			}
			if found.Version != *expected {
				return fmt.Errorf("it is version %s", found.Version)
			}
			return nil
		}},
		{"it shows the book", func() error { return get(ctx, url+"/", nil) }},
		{"it takes an entry", func() (err error) {
			id, err = write(ctx, url+"/entries")
			return err
		}},
		{"the entry is in the book", func() error {
			var rows []row
			if err := get(ctx, url+"/entries", &rows); err != nil {
				return err
			}
			if !slices.ContainsFunc(rows, func(r row) bool { return r.ID == id }) {
				return fmt.Errorf("entry %d is not there yet; does the worker run?", id)
			}
			return nil
		}},
	}
	if *readOnly {
		checks = checks[:3]
	}
	for _, each := range checks {
		if err := within(ctx, c.CheckTimeout, each.do); err != nil {
			return fmt.Errorf("%s: no, not within %s: %w", each.name, c.CheckTimeout, err)
		}
		fmt.Fprintf(out, "  ok  %s\n", each.name)
	}
	fmt.Fprintln(out, "the release works")
	return nil
}

// within repeats a check until it is good or its time is up.
func within(ctx context.Context, limit time.Duration, do func() error) error {
	deadline := time.Now().Add(limit)
	for {
		err := do()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(250 * time.Millisecond):
		}
	}
}

func get(ctx context.Context, url string, into any) error {
	return exchange(ctx, http.MethodGet, url, nil, into)
}

// write signs the book under a name that a person can tell from a reader's.
func write(ctx context.Context, url string) (int64, error) {
	given, err := json.Marshal(message{Name: "Release Check <check@example.com>", Text: "checked by " + version})
	if err != nil {
		return 0, fmt.Errorf("writing an entry: %w", err)
	}
	var queued message
	err = exchange(ctx, http.MethodPost, url, bytes.NewReader(given), &queued)
	return queued.ID, err
}

func exchange(ctx context.Context, method, url string, body io.Reader, into any) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return fmt.Errorf("asking %s: %w", url, err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("asking %s: %w", url, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 4<<20))
	if err != nil {
		return fmt.Errorf("reading the answer of %s: %w", url, err)
	}
	if response.StatusCode >= 300 {
		return fmt.Errorf("%s answers %s: %s", url, response.Status, bytes.TrimSpace(text[:min(len(text), 300)]))
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("reading the answer of %s: %w", url, err)
	}
	return nil
}

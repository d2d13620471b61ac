package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"slipway.dev/slipway/internal/outside/forge/fake"
)

// version is what it reports. A build can set another.
var version = "2.400.0"

// configVariable is where GitHub's runner looks for its configuration, beside its arguments.
const configVariable = "ACTIONS_RUNNER_INPUT_JITCONFIG"

func runner(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("run.sh", flag.ContinueOnError)
	config := flags.String("jitconfig", "", "the one-job configuration")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *config == "" {
		*config = os.Getenv(configVariable)
	}
	// As GitHub's does: no step may find it.
	if err := os.Unsetenv(configVariable); err != nil {
		return err
	}
	server, err := fake.Server(*config)
	if err != nil {
		return fmt.Errorf("An error occurred: %w", err)
	}
	r := &remote{server: server, client: &http.Client{Timeout: time.Minute}}
	var session fake.Session
	if err := r.insist(ctx, http.MethodPost, "/runner/session", fake.Greeting{Config: *config, Version: version}, &session); err != nil {
		return fmt.Errorf("An error occurred: %w", err)
	}
	r.token = session.Token
	fmt.Printf("\n√ Connected to GitHub\n\nCurrent runner version: '%s'\n%s: Listening for Jobs\n", version, stamp())
	for {
		var work fake.Work
		err := r.insist(ctx, http.MethodGet, "/runner/job?wait=20s", nil, &work)
		switch {
		case ctx.Err() != nil:
			fmt.Println("Exiting...")
			leave, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			// It has been told to end, and ends whether that is heard or not.
			_ = r.call(leave, http.MethodDelete, "/runner/session", nil, nil)
			return nil
		case errors.Is(err, errGone):
			fmt.Println("The runner registration has been deleted from the server.")
			return nil
		case err != nil:
			return err
		case work.Job != 0:
			return r.run(ctx, work)
		}
	}
}

func stamp() string { return time.Now().UTC().Format("2006-01-02 15:04:05Z") }

// remote is the forge.
type remote struct {
	server *url.URL
	client *http.Client
	token  string
}

var errGone = errors.New("gone")

// refused is an answer that no repetition changes.
type refused struct{ text string }

func (r refused) Error() string { return r.text }

func (r *remote) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(r.server.String(), "/")+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+r.token)
	res, err := r.client.Do(req)
	if err != nil {
		return fmt.Errorf("reach the forge: %w", err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, 8<<20))
	if err != nil {
		return fmt.Errorf("hear the forge: %w", err)
	}
	switch {
	case res.StatusCode == http.StatusNotFound:
		return errGone
	case res.StatusCode >= 500 || res.StatusCode == http.StatusTooManyRequests:
		return fmt.Errorf("the forge answers %s", res.Status)
	case res.StatusCode >= 400:
		return refused{fmt.Sprintf("the forge answers %s: %s", res.Status, raw)}
	case out == nil || len(raw) == 0:
		return nil
	}
	return json.Unmarshal(raw, out)
}

// insist repeats a call through outages, as GitHub's runner does.
func (r *remote) insist(ctx context.Context, method, path string, in, out any) error {
	for {
		err := r.call(ctx, method, path, in, out)
		var no refused
		if err == nil || ctx.Err() != nil || errors.Is(err, errGone) || errors.As(err, &no) {
			return err
		}
		fmt.Printf("%s: %v; trying again\n", stamp(), err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// run carries a job out, and reports each step and the end.
func (r *remote) run(ctx context.Context, work fake.Work) error {
	fmt.Printf("%s: Running job: %s\n", stamp(), work.Name)
	path := fmt.Sprintf("/runner/jobs/%d", work.Job)
	// Of the job alone: what is told at its end is told also when everything must end.
	tell, cancel := context.WithTimeout(context.WithoutCancel(ctx), 24*time.Hour)
	defer cancel()
	job, stop := context.WithCancel(ctx)
	defer stop()
	cancelled := r.heed(job, stop, path)
	conclusion := "success"
	for i, line := range work.Script {
		step := fake.StepReport{Number: int64(i + 2), Name: line}
		if err := r.insist(tell, http.MethodPost, path, fake.Progress{Step: &step}, nil); err != nil {
			return err
		}
		log, err := carryOut(job, line)
		step.Conclusion = "success"
		switch {
		case cancelled():
			step.Conclusion, log = "cancelled", log+"Error: The operation was canceled.\n"
		case ctx.Err() != nil:
			step.Conclusion, log = "failure", log+"Error: The runner has received a shutdown signal.\n"
		case err != nil:
			step.Conclusion, log = "failure", log+fmt.Sprintf("Error: %v\n", err)
		}
		fmt.Print(log)
		if err := r.insist(tell, http.MethodPost, path, fake.Progress{Step: &step, Log: "##[group]Run " + line + "\n" + log + "##[endgroup]\n"}, nil); err != nil {
			return err
		}
		if step.Conclusion != "success" {
			conclusion = step.Conclusion
			break
		}
	}
	if err := r.insist(tell, http.MethodPost, path, fake.Progress{Conclusion: conclusion}, nil); err != nil {
		return err
	}
	fmt.Printf("%s: Job %s completed with result: %s\n", stamp(), work.Name, map[string]string{"success": "Succeeded", "failure": "Failed", "cancelled": "Canceled"}[conclusion])
	return nil
}

// heed gives signs of life while a job runs, and ends it when it was cancelled.
func (r *remote) heed(job context.Context, stop func(), path string) (cancelled func() bool) {
	heard := make(chan struct{})
	go func() {
		for {
			select {
			case <-job.Done():
				return
			case <-time.After(time.Second):
			}
			var orders fake.Orders
			// One that is lost is followed by the next.
			if err := r.call(job, http.MethodPost, path, fake.Progress{}, &orders); err == nil && orders.Cancel {
				close(heard)
				stop()
				return
			}
		}
	}()
	return func() bool {
		select {
		case <-heard:
			return true
		default:
			return false
		}
	}
}

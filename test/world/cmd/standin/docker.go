package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// dockerd listens where it is told to, and answers that it is there. It has no images and
// runs no containers.
func dockerd(ctx context.Context, args []string) error {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/_ping") || strings.HasSuffix(r.URL.Path, "/version") {
			fmt.Fprintln(w, `{"Version":"0.0.0-standin"}`)
			return
		}
		http.Error(w, `{"message":"this stands in for Docker and does nothing"}`, http.StatusNotImplemented)
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 8)
	listening := 0
	for _, a := range args {
		host, ok := strings.CutPrefix(a, "--host=")
		if !ok {
			continue
		}
		network, address, _ := strings.Cut(host, "://")
		if network == "unix" {
			if err := os.MkdirAll(address[:strings.LastIndex(address, "/")], 0o755); err != nil {
				return err
			}
		}
		l, err := (&net.ListenConfig{}).Listen(ctx, network, address)
		if err != nil {
			return err
		}
		fmt.Println("API listen on", host)
		listening++
		go func() { ended <- server.Serve(l) }()
	}
	if listening == 0 {
		return errors.New("dockerd: no --host=")
	}
	select {
	case <-ctx.Done():
		return server.Close()
	case err := <-ended:
		return err
	}
}

// docker knows one command, version, which asks the daemon.
func docker(ctx context.Context, args []string) error {
	host := os.Getenv("DOCKER_HOST")
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "--host", "-H":
			if i++; i < len(args) {
				host = args[i]
			}
		case "version", "info":
			ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
			defer cancel()
			network, address, _ := strings.Cut(host, "://")
			c, err := (&net.Dialer{}).DialContext(ctx, network, address)
			if err != nil {
				return fmt.Errorf("Cannot connect to the Docker daemon at %s: %w", host, err)
			}
			fmt.Println("Client: standin\nServer: standin")
			return c.Close()
		}
	}
	return errors.New("docker: this stands in for Docker and knows only version")
}

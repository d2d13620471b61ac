package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"slipway.dev/slipway/internal/config"
	"slipway.dev/slipway/internal/slipway"
)

// listener is one HTTP server and where it listens.
type listener struct {
	server *http.Server
	socket net.Listener
	url    string // http://127.0.0.1:8080
}

// listen opens the public listener. It serves nothing yet.
func listen(c config.Config, h http.Handler, log *slog.Logger) (*listener, error) {
	var certs *certificates
	if c.TLS.CertFile != "" {
		certs = &certificates{cert: c.TLS.CertFile, key: c.TLS.KeyFile}
		if _, err := certs.get(nil); err != nil {
			return nil, slipway.Errorf(slipway.Invalid, "the TLS files cannot be used: %v", err).
				WithHint("see tls.cert_file and tls.key_file")
		}
	}
	socket, err := new(net.ListenConfig).Listen(context.Background(), "tcp", c.Listen)
	if err != nil {
		return nil, slipway.Errorf(slipway.Unavailable, "cannot listen on %s: %v", c.Listen, err).
			WithHint("another program may use it; choose another with --listen")
	}
	return newListener(socket, certs, h, log), nil
}

// listenForActions opens a listener of its own on loopback, by which the actions that run
// on this machine call back, whatever the public one is and whoever serves it. It takes
// the port that it had before, because an action that outlived the process goes on calling
// there.
func listenForActions(dir string, h http.Handler, log *slog.Logger) (*listener, error) {
	file := filepath.Join(dir, "actions-port")
	var socket net.Listener
	before, err := os.ReadFile(file)
	if err == nil {
		if port, err := strconv.ParseUint(strings.TrimSpace(string(before)), 10, 16); err == nil {
			socket, err = new(net.ListenConfig).Listen(context.Background(), "tcp", net.JoinHostPort("127.0.0.1", strconv.FormatUint(port, 10)))
			if err != nil {
				log.Warn("the port of actions is taken; actions that still run reach the public address only", "error", err)
			}
		}
	}
	if socket == nil {
		if socket, err = new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0"); err != nil {
			return nil, fmt.Errorf("listen for actions: %w", err)
		}
	}
	_, port, err := net.SplitHostPort(socket.Addr().String())
	if err == nil {
		err = os.WriteFile(file, []byte(port+"\n"), 0o600)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("keep the port of actions: %w", err), socket.Close())
	}
	return newListener(socket, nil, h, log), nil
}

func newListener(socket net.Listener, certs *certificates, h http.Handler, log *slog.Logger) *listener {
	l := &listener{socket: socket, url: "http://" + socket.Addr().String()}
	l.server = &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		// Bodies are bounded in size where they are read, and so in time; answers may be
		// long polls and streams of events, which end by themselves.
		ReadTimeout:    2 * time.Minute,
		IdleTimeout:    2 * time.Minute,
		MaxHeaderBytes: 64 << 10,
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	if certs != nil {
		l.url = "https://" + socket.Addr().String()
		l.socket = tls.NewListener(socket, &tls.Config{
			MinVersion: tls.VersionTLS12, GetCertificate: certs.get, NextProtos: []string{"h2", "http/1.1"},
		})
	}
	return l
}

// serve runs until stop. Its error is nil after a stop.
func (l *listener) serve() error {
	if err := l.server.Serve(l.socket); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", l.url, err)
	}
	return nil
}

// stop lets running requests end, and cuts them off when ctx does.
func (l *listener) stop(ctx context.Context) {
	if err := l.server.Shutdown(ctx); err != nil {
		_ = l.server.Close() // what is left has had its time
	}
}

// certificates reads the TLS files again when they change, so that a renewal needs no
// restart.
type certificates struct {
	cert, key string

	mu      sync.Mutex
	loaded  *tls.Certificate
	changed time.Time
}

func (c *certificates) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	info, err := os.Stat(c.cert)
	if err == nil && c.loaded != nil && info.ModTime().Equal(c.changed) {
		return c.loaded, nil
	}
	if err == nil {
		var pair tls.Certificate
		if pair, err = tls.LoadX509KeyPair(c.cert, c.key); err == nil {
			c.loaded, c.changed = &pair, info.ModTime()
			return c.loaded, nil
		}
	}
	if c.loaded != nil {
		return c.loaded, nil // half-written files; the old pair serves until they are whole
	}
	return nil, err
}

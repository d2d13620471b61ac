package prefect

import (
	"context"
	"errors"
	"log/slog"
)

// ServerConfig is what a Server needs. Python and Dir are required.
type ServerConfig struct {
	Python Python
	// Dir is a private folder for the database, the auth string, the log and the record of
	// the running process.
	Dir string
	// Port is the one to try first; 4200 when zero. When it is taken another one is found,
	// and tried first from then on.
	Port int
	// LogMax bounds the server's log, in bytes; 8 MiB when zero.
	LogMax int64
	Logger *slog.Logger
}

// Server keeps one Prefect server running as a child on loopback.
type Server struct{ ServerConfig }

// NewServer prepares the folder and the auth string. It starts nothing.
func NewServer(c ServerConfig) (*Server, error) { return &Server{c}, nil }

// Endpoint returns the server's address; it may change when the server is started anew.
func (s *Server) Endpoint() Endpoint { return Endpoint{} }

// Start adopts the server that an earlier Slipway left running, or starts one, and returns
// when it answers: within 60 s, or with the end of its log in the error.
func (s *Server) Start(ctx context.Context) error { return errors.ErrUnsupported }

// Run starts the server again whenever it dies, until ctx ends. It leaves it running then:
// actions may still need it.
func (s *Server) Run(ctx context.Context) error { return errors.ErrUnsupported }

// Stop ends the server: TERM, then KILL after 10 s.
func (s *Server) Stop(ctx context.Context) error { return errors.ErrUnsupported }

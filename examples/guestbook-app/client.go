package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// entering is the request to make a row of a message.
type entering struct {
	Schema  int               `json:"schema"`
	Message int64             `json:"message"`
	Values  map[string]string `json:"values"`
}

// client asks the store, in the name of one program.
type client struct {
	url, password, program string
}

func newClient(c configuration, program string) client {
	return client{url: strings.TrimRight(c.StoreURL, "/"), password: c.Password, program: program + "/" + version}
}

// storeTimeout bounds one request. The store answers from memory; only a disk is slow.
const storeTimeout = 10 * time.Second

func (s client) ask(ctx context.Context, method, path string, question, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	var body io.Reader
	if question != nil {
		data, err := json.Marshal(question)
		if err != nil {
			return fmt.Errorf("asking the store: %w", err)
		}
		body = bytes.NewReader(data)
	}
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, body)
	if err != nil {
		return fmt.Errorf("asking the store: %w", err)
	}
	request.Header.Set(programHeader, s.program)
	if s.password != "" {
		request.SetBasicAuth("guestbook", s.password)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("asking the store: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		if answer == nil {
			return nil
		}
		if err := json.NewDecoder(response.Body).Decode(answer); err != nil {
			return fmt.Errorf("reading the store's answer: %w", err)
		}
		return nil
	}
	var problem struct {
		Error string `json:"error"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, 1<<16)).Decode(&problem); err != nil || problem.Error == "" {
		problem.Error = response.Status
	}
	if response.StatusCode == http.StatusConflict {
		return refusal(problem.Error)
	}
	return fmt.Errorf("asking the store: %s", problem.Error)
}

func (s client) status(ctx context.Context) (status, error) {
	var answer status
	return answer, s.ask(ctx, http.MethodGet, "/v1/status", nil, &answer)
}

func (s client) rows(ctx context.Context) ([]row, error) {
	var answer []row
	return answer, s.ask(ctx, http.MethodGet, "/v1/rows", nil, &answer)
}

func (s client) initialise(ctx context.Context, r release) error {
	return s.ask(ctx, http.MethodPost, "/v1/initialise", map[string]any{"schema": r.schema, "columns": r.columns}, nil)
}

func (s client) enqueue(ctx context.Context, name, text string) (message, error) {
	var answer message
	return answer, s.ask(ctx, http.MethodPost, "/v1/queue", message{Name: name, Text: text}, &answer)
}

func (s client) take(ctx context.Context, schema int) (*message, error) {
	var answer *message
	return answer, s.ask(ctx, http.MethodPost, "/v1/queue/take", map[string]int{"schema": schema}, &answer)
}

func (s client) enter(ctx context.Context, schema int, messageID int64, values map[string]string) error {
	return s.ask(ctx, http.MethodPost, "/v1/rows", entering{Schema: schema, Message: messageID, Values: values}, nil)
}

func (s client) backup(ctx context.Context, name string) (backup, error) {
	var answer backup
	return answer, s.ask(ctx, http.MethodPost, "/v1/backups", backup{Name: name}, &answer)
}

// remoteTransaction is a migration's transaction, as the one who migrates sees it.
type remoteTransaction struct {
	store client
	path  string
}

func (s client) begin(ctx context.Context, from, to int) (remoteTransaction, error) {
	var answer struct {
		Number int64 `json:"number"`
	}
	err := s.ask(ctx, http.MethodPost, "/v1/migrations", map[string]int{"from": from, "to": to}, &answer)
	return remoteTransaction{store: s, path: "/v1/migrations/" + strconv.FormatInt(answer.Number, 10)}, err
}

func (t remoteTransaction) addColumn(ctx context.Context, column string) error {
	return t.store.ask(ctx, http.MethodPost, t.path+"/columns", map[string]string{"add": column}, nil)
}

func (t remoteTransaction) dropColumn(ctx context.Context, column string) error {
	return t.store.ask(ctx, http.MethodPost, t.path+"/columns", map[string]string{"drop": column}, nil)
}

func (t remoteTransaction) rows(ctx context.Context) ([]row, error) {
	var answer []row
	return answer, t.store.ask(ctx, http.MethodGet, t.path+"/rows", nil, &answer)
}

func (t remoteTransaction) update(ctx context.Context, rows []row) error {
	return t.store.ask(ctx, http.MethodPut, t.path+"/rows", rows, nil)
}

func (t remoteTransaction) commit(ctx context.Context) error {
	return t.store.ask(ctx, http.MethodPost, t.path+"/commit", nil, nil)
}

func (t remoteTransaction) rollback(ctx context.Context) error {
	return t.store.ask(ctx, http.MethodDelete, t.path, nil, nil)
}

package serve

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/wire"
)

// giver asks a thread of the client for credentials, over a connection that a GIVER frame
// has brought. Answers are in memory only.
type giver struct {
	*store.Giver
	conn net.Conn

	mu   sync.Mutex // one question at a time
	from *bufio.Reader
	owed int    // answers for which nobody waits
	part []byte // of the one that comes next
}

// newGiver returns the giver that a frame has brought. Its payload is the schemes.
func newGiver(f wire.Frame) (*giver, error) {
	file := os.NewFile(uintptr(f.Descriptor), "giver")
	defer file.Close() // the connection has its own
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, fmt.Errorf("%w: GIVER: %w", wire.ErrProtocol, err)
	}
	g := &giver{Giver: new(store.Giver), conn: conn, from: bufio.NewReader(conn)}
	if err := json.Unmarshal(f.Payload, &g.Schemes); err != nil {
		conn.Close()
		return nil, fmt.Errorf("%w: GIVER: %w", wire.ErrProtocol, err)
	}
	g.Ask = g.ask
	return g, nil
}

func (g *giver) close() { g.conn.Close() }

// ask asks for the credentials of a scheme. An answer that came after its reader had gone
// is passed over when the next one is asked for.
func (g *giver) ask(ctx context.Context, scheme string) (store.Given, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.owed > 0 {
		if _, err := g.line(ctx); err != nil {
			return store.Given{}, err
		}
		g.owed--
	}
	if _, err := fmt.Fprintf(g.conn, "%q\n", scheme); err != nil {
		return store.Given{}, errNoGiver
	}
	g.owed++
	line, err := g.line(ctx)
	if err != nil {
		return store.Given{}, err
	}
	g.owed--
	var answer struct {
		Given map[string]string
		Until float64 // in Unix seconds; 0: they do not expire
		Error string
	}
	switch err := json.Unmarshal(line, &answer); {
	case err != nil:
		return store.Given{}, fmt.Errorf("%w: of GIVER: no JSON", wire.ErrProtocol) // which may be secret
	case answer.Error != "":
		return store.Given{}, errors.New(answer.Error)
	}
	g2 := store.Given{Values: answer.Given}
	if answer.Until != 0 {
		g2.Until = time.UnixMilli(int64(answer.Until * 1000))
	}
	return g2, nil
}

// line waits for an answer. The part of it that has come when ctx ends is kept.
func (g *giver) line(ctx context.Context) ([]byte, error) {
	defer context.AfterFunc(ctx, func() { g.conn.SetReadDeadline(time.Now()) })()
	for {
		if ctx.Err() == nil {
			g.conn.SetReadDeadline(time.Time{})
		}
		more, err := g.from.ReadBytes('\n')
		g.part = append(g.part, more...)
		switch {
		case err == nil:
			line := g.part
			g.part = nil
			return line, nil
		case errors.Is(ctx.Err(), context.Canceled):
			return nil, ctx.Err()
		case ctx.Err() != nil || !errors.Is(err, os.ErrDeadlineExceeded):
			return nil, errNoGiver
		}
	}
}

var errNoGiver = errors.New("the function did not answer")

package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/extern"
	"github.com/headrace/headrace/internal/machine"
	"github.com/headrace/headrace/internal/version"
	"github.com/headrace/headrace/wire"
)

// Options are the descriptors that the engine inherits; docs/protocol.md states what
// each is.
type Options struct {
	Control int // the control connection
	Page    int // the crash page; negative: none
	Parent  int // the process that started this one, as it knows itself; 0: whoever that is
}

// Serve runs the engine until its client is gone: until the control connection and
// every session have ended, or ctx ends, or the parent process ends, which ends this
// process at once.
func Serve(ctx context.Context, o Options) error {
	defer runtime.KeepAlive(make([]byte, ballast))
	slog.SetDefault(slog.New(slog.NewTextHandler(&lastWords{file: os.Stderr}, nil)))

	// Ctrl-C goes to the whole process group and schedulers send SIGTERM to it: the
	// trainer decides what becomes of its engine. SIGXFSZ would end the process where
	// an error can be returned.
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGXFSZ)

	parent := o.Parent
	if parent == 0 {
		parent = os.Getppid() // which is another process already, if the one that started this one has ended
	}

	e := &engine{ioEngine: ioEngine{gate: headrace.NewGate(), cpus: machine.Here().Cores}, parent: parent}
	if err := watch(parent, e.exit); err != nil && os.Getppid() == parent {
		return err
	}
	if os.Getppid() != parent {
		return fmt.Errorf("serve: the client, process %d, ended before the engine began", parent)
	}

	control, err := wire.FromDescriptor(o.Control)
	if err != nil {
		return err
	}
	defer control.Close()
	defer context.AfterFunc(ctx, func() { control.Close() })()

	if o.Page >= 0 {
		if e.page, err = mapPage(o.Page); err != nil {
			return err
		}
	}

	err = e.control(ctx, control)
	e.sessions.Wait()
	return err
}

// exit ends the process when the client has ended: there is no one left to report to.
func (e *engine) exit() {
	extern.EndAll()
	os.Exit(0)
}

// control greets the client and takes in sessions, until the client ends the connection
// or breaks the protocol, which it is reported.
func (e *engine) control(ctx context.Context, conn *wire.Conn) error {
	defer conn.CloseDescriptors()
	err := e.greet(conn)
	if err == nil {
		err = e.takeSessions(ctx, conn)
	}
	if errors.Is(err, io.EOF) || vanished(err) {
		return nil
	}
	conn.SendJSON(wire.KindError, 0, describe(err))
	return err
}

func (e *engine) takeSessions(ctx context.Context, conn *wire.Conn) error {
	for number := uint32(1); ; number++ {
		f, err := conn.Receive()
		if errors.Is(err, wire.ErrCut) { // the client finds its end of the session closed; the other sessions go on
			if err := conn.SendJSON(wire.KindError, 0, describe(coded(wire.CodeMemory, errFull))); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		if f.Kind != wire.KindSession {
			return fmt.Errorf("%w: %v on the control connection", wire.ErrProtocol, f.Kind)
		}
		session, err := wire.FromDescriptor(f.Descriptor)
		if err != nil {
			return err
		}
		e.sessions.Go(func() { e.session(ctx, session, number) })
	}
}

var errFull = errors.New("the engine cannot open another session: it has no file descriptors left;" +
	" raise the limit (ulimit -n), or use fewer loaders at once")

func (e *engine) greet(conn *wire.Conn) error {
	f, err := conn.Receive()
	if err != nil {
		return err
	}
	if f.Kind != wire.KindHello {
		return fmt.Errorf("%w: %v before HELLO", wire.ErrProtocol, f.Kind)
	}

	var hello wire.Hello
	if err := parse(f, &hello); err != nil {
		return err
	}
	if err := checkProtocol(hello.Protocol); err != nil {
		return err
	}

	if err := e.watchClient(hello.PID); err != nil {
		return err
	}
	e.client, e.trainer = hello.Version, hello.PID

	build := version.Here()
	features, err := json.Marshal(build.Features)
	if err != nil {
		return err
	}
	return conn.SendJSON(wire.KindHello, 0, wire.Hello{
		Protocol: wire.Version, Version: build.Version, Commit: build.Commit, PID: os.Getpid(),
		Decoder: headrace.Decoder(), Features: features, CPUs: e.cpus,
	})
}

// watchClient watches a client that is not the parent: it ended before this process
// began, which has another parent since, or it started the engine by way of another
// program.
func (e *engine) watchClient(pid int) error {
	if e.parent == 0 || pid <= 0 || pid == e.parent {
		return nil
	}
	if err := watch(pid, e.exit); err != nil {
		return fmt.Errorf("serve: the client that said HELLO: %w", err)
	}
	return nil
}

package serve

import (
	"encoding/json"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/headrace/headrace/wire"
)

// vanished tells whether err is only the client's going away, in whatever way its end
// of the socket was closed. Only the connection can tell: reading a truncated file, or a
// closed one, fails with errors of the same names.
func vanished(err error) bool { return errors.Is(err, errVanished) || errors.Is(err, wire.ErrGone) }

var errVanished = errors.New("serve: the client went away")

// refuse returns the error for a frame that is not allowed at this point, and closes its
// descriptor.
func refuse(f wire.Frame, where string) error {
	if f.Descriptor >= 0 {
		unix.Close(f.Descriptor)
	}
	return fmt.Errorf("%w: %v %s", wire.ErrProtocol, f.Kind, where)
}

// parse reads a JSON payload.
func parse(f wire.Frame, v any) error {
	if err := json.Unmarshal(f.Payload, v); err != nil {
		return fmt.Errorf("%w: %v: %v", wire.ErrProtocol, f.Kind, err)
	}
	return nil
}

// checkProtocol refuses a client of another release.
func checkProtocol(client int) error {
	if client != wire.Version {
		return fmt.Errorf("%w: the client speaks protocol %d, the engine %d; install the two from one release",
			wire.ErrProtocol, client, wire.Version)
	}
	return nil
}

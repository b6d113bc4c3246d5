// Command handover is an engine without work, in two depths; bench/handover.py gives it
// to the Python client in place of the real one.
//
// HANDOVER=engine: the whole engine but for the decoder, which leaves the rows as they
// are. What remains is the price of the engine.
//
// HANDOVER=alone: no source, no files, no stages either: slots of an arena go out in
// messages and come back. What remains is the price of handing a batch to another
// process.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/serve"
)

// nothing leaves the row as it is.
type nothing struct{}

func (nothing) Name() string { return "nothing" }

func (nothing) DecodeInto([]byte, int, []byte, *media.Info, *media.Plan) error { return nil }

func main() {
	var o serve.Options
	flags := flag.NewFlagSet("serve", flag.ExitOnError)
	flags.IntVar(&o.Control, "fd", -1, "descriptor of the control connection")
	flags.IntVar(&o.Page, "page", -1, "descriptor of the crash page")
	flags.IntVar(&o.Parent, "parent", 0, "the process that starts this one")
	flags.Parse(os.Args[2:])
	var err error
	if os.Getenv("HANDOVER") == "alone" {
		err = alone(o.Control)
	} else {
		media.Register(media.JPEG, nothing{})
		err = serve.Serve(context.Background(), o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "handover:", err)
		os.Exit(1)
	}
}

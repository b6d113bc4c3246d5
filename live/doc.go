// Package live shows what loaders do, live: in a browser, and to headrace top.
//
//	w := live.Watch(live.Loader{Name: "train", Stats: loader.Stats})
//	defer w.Close()
//	address, err := live.Serve(0) // http://127.0.0.1:41233/TOKEN/
//
// Once a second each loader is read, and becomes a [Moment]: rates, clocks and queues of
// the last ten seconds, the sentence of package stats, samples that failed. The server
// sends whole moments of at most 8 KB, so that a browser that misses some misses nothing.
// History of the last hour is kept here, and sent when the page opens.
//
// A sample is read while a page shows it, and at no other time.
//
// The server listens on the loopback interface alone, changes nothing, and answers no
// request without the token in its address, with the name of another host, or from a page
// of another origin. Loaders of other processes of the user are shown, too, if they are
// watched: they meet by package internal/node, as the ranks of a training do.
//
// # Concurrency
//
// All functions and methods may be called at once. A loader never waits for a browser:
// each has a goroutine of its own, which sends the newest moment when it can.
//
// # Testing
//
// Tests of the package have a faster clock. python/tests_page looks at the page with
// Chromium.
package live

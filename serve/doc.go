// Package serve is the engine process: it gives sessions to the clients of one parent process.
//
// [Serve] owns the control connection. Every session is a connection of its own with one recipe and one [headrace.Loader]: the reading
// goroutine (session.go) obeys the client, the pump (pump.go) sends batches as far ahead as the client allows. All sessions share one gate, so
// that together they keep the usable cores busy and no more.
//
// # Concurrency
//
// A session's loader is driven by its reading goroutine (start, close) and its pump (next); the loader allows that. Nothing waits for a client: a pump
// sends at most as many batches as were asked for, and these fit the socket's buffer.
//
// # Life
//
// The engine ends when its parent process ends (pidfd), or when the control connection and every session have ended.
//
// # Testing
//
// The tests speak the protocol over real socket pairs with real files; python/tests does the same from the other side.
package serve

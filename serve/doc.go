// Package serve is the engine process: it gives sessions to the clients of one parent
// process.
//
// [Serve] owns the control connection. Every session is a connection of its own with
// one recipe and one [headrace.Loader]: the reading goroutine (session.go) obeys the
// client, the pump (pump.go) sends batches as far ahead as the client allows. All
// sessions share one gate, so that together they keep the usable cores busy and no
// more.
//
// A session may also carry out tasks on media, one after the other, without a loader
// (io.go): results have any size, and are in pools of slots by powers of two
// (result_memory.go). Other processes of the same user can begin such sessions at a
// socket, as long as the client's session that opened it lasts (share.go).
//
// # Concurrency
//
// A session's loader is driven by its reading goroutine (start, close) and its pump
// (next); the loader allows that. A pump sends at most as many batches as were asked
// for, and ends of epochs no faster than asked for, so what is written and not read has
// a bound; mostly it fits the socket's buffer. Where names are long and batches large
// it does not, and the engine waits with the next frame until the client reads. The
// client must not wait for the engine in any other way than by reading.
//
// # Life
//
// The engine ends when its parent process ends (pidfd) or the process that said HELLO
// does, or when the control connection and every session have ended.
//
// # Testing
//
// The tests speak the protocol over real socket pairs with real files; python/tests
// does the same from the other side.
package serve

// Package pipetest helps to test what is built on package pipe.
//
// [Numbers] is a source that does what a test says, [Gauge] measures how many
// operations run at once, [Owner] finds items that are lost or disposed of twice, and
// [Resume] is the contract that every exact pipeline keeps: it can be cut at any item.
// All of it works inside a testing/synctest bubble, where [Sleep] costs nothing.
package pipetest

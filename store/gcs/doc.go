// Package gcs is the store of gs:// names: the buckets of Google Cloud Storage.
//
// A program that imports it has the scheme; see store.Register. Settings and
// credentials are those of Google's own libraries: see [settings] and [identity]. A name
// is gs://bucket/object, the object's name as it is: nothing in it is escaped.
//
// The version of an object is its generation. Listings and reads are requests of the JSON
// API; package steady sends them. Tokens come by golang.org/x/oauth2, which knows keys,
// users, federations and the roles of machines.
package gcs

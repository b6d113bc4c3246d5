// Package azure is the store of az://, abfs:// and abfss:// names: the containers of
// Azure Blob Storage and Data Lake Storage.
//
// A program that imports it has the schemes; see store.Register. Settings and
// credentials are those of Microsoft's own programs: see [settings] and [identity]. Names
// are az://container/blob, in the account of the settings, and
// abfss://container@account.dfs.core.windows.net/blob. The blob's name is as it is:
// nothing in it is escaped.
//
// Listings and reads are requests of our own, signed by [sign] if there is a key; package
// steady sends them. Tokens come by azidentity, which knows applications, federations,
// machines and users.
package azure

package view

// AuditFilter narrows the record of who did what. Its zero value is all of it.
type AuditFilter struct {
	User   string
	Action string // application.deploy
	Noun   string // application
	NounID int64
}

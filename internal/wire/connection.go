package wire

import (
	"encoding/json"
	"time"
)

// Connection is where a forge sends deliveries to, and whose pools they may wake.
type Connection struct {
	Name          string     `json:"name"`
	Project       string     `json:"project,omitempty" doc:"With environment: whose pools its jobs may wake. Absent: those of the whole installation."`
	Environment   string     `json:"environment,omitempty"`
	Forge         string     `json:"forge" enum:"github"`
	BaseURL       string     `json:"base_url,omitempty" doc:"Of a GitHub Enterprise Server; absent: github.com."`
	WebhookURL    string     `json:"webhook_url" doc:"What to enter as the webhook's URL at the forge."`
	AppID         int64      `json:"app_id,omitempty" doc:"Of the GitHub App whose webhook it is."`
	AppURL        string     `json:"app_url,omitempty" doc:"The App's page at the forge, when it is known."`
	InstallURL    string     `json:"install_url,omitempty" doc:"Where the App is given its repositories, when it is known."`
	AppCredential string     `json:"app_credential,omitempty" doc:"The secret that holds the App's credential, for pools to name, when Slipway saved it." example:"shop/production/acme-app"`
	AppBegun      *AppBegun  `json:"app_begun,omitempty" doc:"An App that is being made; only when one connection is asked for."`
	CreatedBy     string     `json:"created_by"`
	CreatedAt     time.Time  `json:"created_at"`
	LastDelivery  *time.Time `json:"last_delivery,omitempty" doc:"When the newest delivery was taken."`
	RecoveredAt   *time.Time `json:"recovered_at,omitempty" doc:"When lost deliveries were last looked for."`
	RecoverError  string     `json:"recover_error,omitempty" doc:"Why lost deliveries cannot be looked for; queued jobs are asked for all the same."`
}

// NewConnection asks for a connection.
type NewConnection struct {
	Name        string `json:"name" minLength:"1" maxLength:"40" example:"acme"`
	Project     string `json:"project,omitempty" maxLength:"40" doc:"With environment: whose pools its jobs may wake. Absent: the whole installation, for administrators."`
	Environment string `json:"environment,omitempty" maxLength:"40"`
	BaseURL     string `json:"base_url,omitempty" maxLength:"200" example:"https://github.example.com" doc:"Of a GitHub Enterprise Server; absent: github.com."`
	Secret      string `json:"secret,omitempty" maxLength:"256" writeOnly:"true" doc:"What deliveries are signed with; absent: one is made, and shown once."`
	AppID       int64  `json:"app_id,omitempty" minimum:"1" doc:"Of the GitHub App whose webhook it is."`
	AppKey      string `json:"app_key,omitempty" maxLength:"32768" writeOnly:"true" doc:"The App's private key, PEM; it is sealed, and used to ask for lost deliveries."`
}

// NewConnectionSecret asks for another webhook secret.
type NewConnectionSecret struct {
	Secret string `json:"secret,omitempty" maxLength:"256" writeOnly:"true" doc:"Absent: one is made, and shown once."`
	AtOnce bool   `json:"at_once,omitempty" doc:"The secret before counts no more from now on. Else it does for an hour."`
}

// ConnectionSecret is a connection with a secret that was made for it. Secret is shown this
// once.
type ConnectionSecret struct {
	Secret     string     `json:"secret,omitempty" doc:"It is not shown again. Absent when the request had one."`
	Connection Connection `json:"connection"`
}

// Delivery is one delivery that was taken.
type Delivery struct {
	GUID       string    `json:"guid"`
	Event      string    `json:"event"`
	Action     string    `json:"action,omitempty"`
	Outcome    string    `json:"outcome" enum:"taken,old,ignored,invalid"`
	Why        string    `json:"why,omitempty"`
	JobID      int64     `json:"job_id,omitempty"`
	Size       int64     `json:"size" doc:"Bytes."`
	ReceivedAt time.Time `json:"received_at"`
}

// AppManifest is what GitHub makes an App from (its "manifest flow").
type AppManifest struct {
	RegisterURL string          `json:"register_url" doc:"Where the manifest is posted to by a browser, as the form field manifest; for an organization's App put its name in."`
	ConvertURL  string          `json:"convert_url" doc:"Where the code that GitHub then gives is exchanged for the App's ID, key and webhook secret, within an hour."`
	Manifest    json.RawMessage `json:"manifest"`
}

// AppBegun is an App that is being made at the forge, in somebody's browser.
type AppBegun struct {
	Organization string    `json:"organization,omitempty"`
	Secret       string    `json:"secret" doc:"Under which its credential is to be saved." example:"shop/production/acme-app"`
	BegunAt      time.Time `json:"begun_at"`
	ExpiresAt    time.Time `json:"expires_at" doc:"The browser is let back in no longer; a code is good for an hour from when GitHub made the App."`
	Error        string    `json:"error,omitempty" doc:"What became of the last attempt to exchange the code."`
}

// TakeApp gives a connection its App: by a code, or by what the App's page shows.
type TakeApp struct {
	Code        string `json:"code,omitempty" maxLength:"200" writeOnly:"true" doc:"That GitHub gave for the manifest; it is exchanged for the App, once."`
	AppID       int64  `json:"app_id,omitempty" minimum:"1" doc:"In place of a code: of an App that is there,"`
	AppKey      string `json:"app_key,omitempty" maxLength:"32768" writeOnly:"true" doc:"with its private key, PEM."`
	Project     string `json:"project,omitempty" maxLength:"40" doc:"With environment: where its credential is saved. Absent: the connection's own."`
	Environment string `json:"environment,omitempty" maxLength:"40"`
	Secret      string `json:"secret,omitempty" maxLength:"40" example:"acme-app" doc:"The name that the credential is saved under. Absent: the connection's with -app."`
}

// AppTaken is a connection with its App.
type AppTaken struct {
	Connection Connection `json:"connection"`
	Secret     string     `json:"secret" doc:"What runner pools name as their credential." example:"acme-app"`
	In         string     `json:"in" doc:"The environment of the secret." example:"shop/production"`
	InsteadOf  string     `json:"instead_of,omitempty" doc:"The name that was asked for, when another secret took it meanwhile."`
	KeptSecret bool       `json:"kept_webhook_secret,omitempty" doc:"The forge gave no webhook secret; the connection's own goes on, and must stand on the App's page."`
}

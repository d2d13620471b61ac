module slipway.dev/slipway/examples/guestbook-app

go 1.26

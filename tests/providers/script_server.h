// An HTTP server that plays a script: one step per connection, each an answer or a misbehaviour. Keeps what it was sent.
#ifndef RB_TESTS_PROVIDERS_SCRIPT_SERVER_H
#define RB_TESTS_PROVIDERS_SCRIPT_SERVER_H

enum how {
    ANSWER,     // status, headers and body as said
    BREAK_OFF,  // promises one byte more than it sends
    RESET,      // reads the request, resets the connection
    DRIP,       // sends the answer a byte at a time, 50 ms apart
    FLOOD,      // sends a body without end
};

struct step {
    enum how how;
    int status;
    const char *headers; // lines ending in \r\n, or NULL
    const char *body;    // or NULL
};

struct script_server;

struct script_server *script_server_start(const struct step *steps, int n_steps); // the script is copied shallowly
void script_server_stop(struct script_server *s);
const char *script_server_url(const struct script_server *s); // http://127.0.0.1:PORT
int script_server_n_requests(struct script_server *s);        // past the script's end: closed unread, but counted
// Head and body of the i-th request as it came, waited for if it has not; borrowed until stop.
const char *script_server_request(struct script_server *s, int i);

#endif

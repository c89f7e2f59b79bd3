/** The body of a request as its upstream reads it. */
export const asSent = (body: object) => JSON.parse(JSON.stringify(body))

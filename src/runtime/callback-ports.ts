/** Others below 1024 belong to mail, name servers and the like, which read an HTTP request as their own commands. */
export const isCallablePort = ({ port }: URL): boolean =>
  port === '' || port === '80' || port === '443' || Number(port) >= 1_024

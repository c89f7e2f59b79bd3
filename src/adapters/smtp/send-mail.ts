import type { SendMail } from '../../roles/scheduler/send-alert.ts'

/** The package is optional: the configuration has checked that it is installed. No password is sent without TLS. */
export const sendMail: SendMail = async ({ url, user, password, from }, mail, signal) => {
  const { createTransport } = await import('nodemailer')
  const transport = createTransport({
    url,
    ...(user === undefined ? {} : { auth: { user, pass: password }, requireTLS: true }),
  })
  await transport.sendMail({ from, ...mail, headers: { 'auto-submitted': 'auto-generated' }, signal })
}

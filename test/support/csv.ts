/** The records of a text of RFC 4180, each field as it was before it was written. Throws for what does not follow it. */
export const parseCsv = (text: string): readonly (readonly string[])[] => {
  const records: string[][] = []
  let record: string[] = []
  const fields = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/gy
  for (let end = 0; end < text.length; end = fields.lastIndex) {
    const found = fields.exec(text)
    if (found === null) throw new Error(`not CSV at ${end}: ${text.slice(end, end + 40)}`)
    record.push(found[1]?.replaceAll('""', '"') ?? found[2] ?? '')
    if (found[3] === ',') continue
    records.push(record)
    record = []
  }
  if (record.length > 0) throw new Error('the last record does not end')
  return records
}

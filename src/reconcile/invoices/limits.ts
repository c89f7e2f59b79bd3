export const reconcileLimits = {
  // Reconciliation
  invoiceRecordCharactersMax: 1024 * 1024, // One line of a CSV file.
  invoiceElementCharactersMax: 64 * 1024 * 1024, // One day of a page of a report.
  invoiceFaultsMax: 1_000, // Bad rows shown; the rest are counted.
  invoiceCellsMax: 200_000, // Days × models × items, held in memory: a year of 50 models.
  invoiceRowsPerCopy: 5_000,
  invoicePartsMax: 64, // Kinds of quantities in one file.
  reconcileRoundingMaxPicos: 5_000_000_000, // Half a cent: no invoice is written in less than cents.
  reconcileRoundingOpenaiPicos: 1_000, // A row of the costs report: its amounts pass through double precision.
  reconcileRoundingAnthropicPicos: 1_000_000, // A row of the cost report: written in ten-thousandths of a cent.
} as const

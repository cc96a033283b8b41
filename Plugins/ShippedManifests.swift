/// The manifests of the shipped providers, compiled into the host.
public let shippedManifests: [[UInt8]] = [
  PackageResources.tabella_csv_json,
  PackageResources.tabella_directory_json,
  PackageResources.tabella_processes_json,
  PackageResources.tabella_text_json,
]

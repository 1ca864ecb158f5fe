"""The country whose phone numbers are looked for in text."""

from leakscope.records.errors import LeakscopeError


def check_phone_region(region: str | None) -> None:
    """Raise unless `region` is None or the code of a country that has phone numbers."""
    if region is None:
        return
    from phonenumbers import SUPPORTED_REGIONS  # noqa: PLC0415  slow, and few give a region

    if region not in SUPPORTED_REGIONS:
        raise LeakscopeError(
            "The phone region must be a country's two-letter code in capitals, such as SG."
        )

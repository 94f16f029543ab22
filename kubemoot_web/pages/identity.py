"""Signing in and out."""

from asgiref.sync import async_to_sync
from django.contrib.auth import login
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, redirect_to_login
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from kubemoot_web.access import may, sign_in
from providers import queries

PAUSED = "Too many wrong passwords. Wait a little before you try again."


def address_of(request: HttpRequest | None) -> str:
    """Name the address that a request came from; a form without a request came from nowhere."""
    return "" if request is None else str(request.META.get("REMOTE_ADDR", ""))


class SlowedLoginForm(AuthenticationForm):
    """Name and password, slower with every wrong guess."""

    def clean(self) -> dict[str, object]:
        """Check the password, unless this account is paused for this address."""
        who = {"account": str(self.cleaned_data.get("username", "")), "address": address_of(self.request)}
        if sign_in.must_pause(**who):
            self.add_error(None, PAUSED)
            return self.cleaned_data
        try:
            cleaned = super().clean()
        except ValidationError:
            sign_in.wrong_password(**who)
            raise
        sign_in.right_password(**who)
        return cleaned


class SignIn(LoginView):
    """The login page."""

    authentication_form = SlowedLoginForm
    redirect_authenticated_user = True


@require_GET
@never_cache
def by_link(request: HttpRequest, token: str) -> HttpResponse:
    """Log in whoever holds a one-time link."""
    if request.user.is_authenticated:
        return redirect("/")  # browsers open typed addresses ahead of time: the second opening is the person's own
    user = sign_in.login_link_user(token=token)
    if user is None:
        return render(request, "registration/link_used.html", status=403)
    login(request, user, backend="django.contrib.auth.backends.ModelBackend")
    # The first steps come first while there is nothing to watch, for those who may take them.
    return redirect("/" if queries.servers() or not async_to_sync(may)(user, scope="write") else "start")


@never_cache
def before_admin(request: HttpRequest) -> HttpResponse:
    """Send whoever may not see the admin to the sign-in; whoever is signed in already needs another role."""
    if request.user.is_authenticated:
        return render(request, "403.html", {"message": "Only the staff may see the administration."}, status=403)
    return redirect_to_login(request.GET.get("next", reverse("admin:index")))
